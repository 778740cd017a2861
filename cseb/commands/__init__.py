"""The commands: one file each, with the function that Python calls and the printing of its result."""
