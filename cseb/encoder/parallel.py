"""Encode batches in parallel on a CPU, each with one thread.

Threads inside an operation wait for each other some hundred times per batch; parallel batches wait once. The result
does not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

import torch

Batch = TypeVar("Batch")
Result = TypeVar("Result")


def in_parallel(function: Callable[[Batch], Result], batches: Sequence[Batch], threads: int) -> Iterator[Result]:
    """Yield the result of `function` for each batch, in order, without gradients."""
    # inference mode is set per thread
    run = torch.inference_mode()(function)
    if min(threads, len(batches)) < 2:
        yield from map(run, batches)
        return
    before = torch.get_num_threads()
    try:
        with ThreadPoolExecutor(threads, initializer=partial(torch.set_num_threads, 1)) as pool:
            yield from pool.map(run, batches)
    finally:
        torch.set_num_threads(before)  # the setting is global
