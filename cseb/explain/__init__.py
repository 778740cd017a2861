"""Trace a number: describe its record, recompute it from its items, rerun it, compare it with another."""
