"""Statistics of differences between methods: intervals, tests and conclusions from arrays of scores.

Nothing in this package reads records, tasks or files. Two sources of variation are distinguished. *Seeds* decide on the
training sentences, their order and the dropout masks. *Items* are the test examples. An interval over seeds says
whether the table would be reproduced; an interval over seeds and items says whether one method is better on such text.
Scores are averaged over tasks within a seed first, because all tasks of a seed share one training run.
"""
