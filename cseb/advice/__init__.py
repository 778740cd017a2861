"""Decide whether training an encoder on a user's sentences helps, by the user's labelled examples."""
