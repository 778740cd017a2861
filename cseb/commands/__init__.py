"""The commands: one file each, with the function that Python calls and what the command line prints of its result."""
