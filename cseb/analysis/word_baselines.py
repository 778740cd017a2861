"""Bag-of-words baselines on the embedded tasks, printed below their tables."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from statistics import fmean

from cseb.registry import EMBEDDED, TASK_GROUPS


@lru_cache(maxsize=64)  # every table of a report asks, mostly for the same tasks
def word_baselines(tasks: tuple[str, ...]) -> Mapping[str, float]:
    """Average over these tasks of one protocol, such as snli@1, by the name of the baseline.

    Empty where there are no tasks or one is not in the group EMBEDDED; a baseline that has no score on a task is
    left out. TF-IDF counts over the sentences of these tasks, as in `cseb eval`.
    """
    names = tuple(task.partition("@")[0] for task in tasks)
    if not names or not set(names) <= set(TASK_GROUPS[EMBEDDED]):
        return {}
    from cseb.tasks.words import baselines  # most tables need neither tasks nor words

    found = {}
    for name, points in baselines(names).items():
        known = [point for point in points if point is not None]
        if len(known) == len(points):
            found[name] = fmean(known)
    return found
