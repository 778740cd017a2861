"""Batches as a device computes them: their size, their width, and their way to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

import torch
from torch import Tensor

from cseb.data.tokens import Padded

# Padded tokens per batch at test: on a CPU they fit its cache, elsewhere they keep the device busy.
TOKENS_PER_BATCH = {"cpu": 1024, "cuda": 16_384}
MULTIPLE = 8  # of a width that a GPU's matrix units and attention kernels take without a copy in half precision
HALF = ("bf16", "fp16")


def padded_width(width: int, most: int, precision: str, device: torch.device) -> int:
    """Return the width to which a batch is padded: in half precision on a GPU the next multiple of 8, up to `most`."""
    if device.type == "cpu" or precision not in HALF:
        return width
    return max(width, min(-(-width // MULTIPLE) * MULTIPLE, most))


def tensors(batch: Padded, device: torch.device) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return ids, mask, content and anchor of a batch as tensors on the device, copied without a wait."""
    fields = map(torch.from_numpy, (batch.ids, batch.mask, batch.content, batch.anchor))
    pinned = (field.pin_memory() if device.type == "cuda" else field for field in fields)
    ids, mask, content, anchor = (field.to(device, non_blocking=True) for field in pinned)
    return ids, mask, content, anchor


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
