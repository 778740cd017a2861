"""Compute the results of a function for successive numbers ahead of their use, in other processes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import count
from multiprocessing import get_context
from typing import Any, TypeVar

T = TypeVar("T")

AHEAD = 2  # results per process that may wait for their use

_compute: list[Callable[[int], Any]] = []  # of a worker process


def ahead(compute: Callable[[int], T], first: int, workers: int) -> Iterator[T]:
    """Yield compute(first), compute(first + 1) and so on, without end.

    compute: worker processes get it by forking, so it may hold large arrays. workers: number of processes; 0: compute
    here, when the result is wanted.
    """
    if not workers:
        yield from map(compute, count(first))
        return
    pool = ProcessPoolExecutor(workers, get_context("fork"), _compute.append, (compute,))
    try:
        behind = first + AHEAD * workers
        waiting = deque(pool.submit(_computed, number) for number in range(first, behind))
        for number in count(behind):
            yield waiting.popleft().result()
            waiting.append(pool.submit(_computed, number))
    finally:
        pool.shutdown(cancel_futures=True)


def _computed(number: int) -> Any:
    return _compute[0](number)
