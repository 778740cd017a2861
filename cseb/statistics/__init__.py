"""What can be said about differences between methods: from arrays of points to intervals, tests and verdicts.

Arrays in, numbers out: nothing here knows a record, a task or a file. Two things may vary when a study is repeated. New
*seeds* draw other sentences, orders and dropout masks; new *items* are other test sentences. A seed interval answers
whether the table would come out again, an interval for seeds and items whether one method is better for such sentences.
Points are averaged over tasks within a seed before anything else, because all tasks of a seed share one training run.
"""
