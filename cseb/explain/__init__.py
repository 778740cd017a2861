"""Where a number comes from: its record told, worked out again from its items, run again, held against another."""
