"""What a user calls, from Python or through the command line: train, evaluate, run, load, compare, report and more.

`import cseb` offers the functions of this package; each is imported when it is first asked for.
"""
