"""Batches encoded side by side on a CPU, each by one thread.

Two threads inside every operation wait for each other some hundred times a batch, and a busy machine makes each of
these waits long; two batches at a time wait once. Each vector is that of one thread, however many there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

import torch

Piece = TypeVar("Piece")
Found = TypeVar("Found")


def side_by_side(work: Callable[[Piece], Found], pieces: Sequence[Piece], threads: int) -> Iterator[Found]:
    """`work` on each piece, in order, in so many threads; without gradients."""

    @torch.inference_mode()  # which each thread has to say for itself
    def one(piece: Piece) -> Found:
        return work(piece)

    if min(threads, len(pieces)) < 2:
        yield from map(one, pieces)
        return
    before = torch.get_num_threads()
    try:
        with ThreadPoolExecutor(threads, initializer=partial(torch.set_num_threads, 1)) as pool:
            yield from pool.map(one, pieces)
    finally:
        torch.set_num_threads(before)  # the number is one for the whole process
