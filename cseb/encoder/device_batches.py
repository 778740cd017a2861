"""Batches as a device computes them: their size, their width, their precision, and their way to it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar

import torch
from torch import Tensor, nn

from cseb.encoder.tokenizer import Padded

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


def cast(model: nn.Module, dtype: torch.dtype) -> None:
    """Convert the weights of a model. What it computes from its configuration stays as it is, as in transformers.

    Rotary frequencies in half precision would misplace tokens far from the start.
    """
    computed = [(part, name) for part in model.modules() for name in part._non_persistent_buffers_set]
    before = [part.get_buffer(name) if part._buffers[name] is not None else None for part, name in computed]
    model.to(dtype)
    for (part, name), buffer in zip(computed, before, strict=True):
        part._buffers[name] = buffer


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


P = ParamSpec("P")
R = TypeVar("R")
DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16}


def autocast(device: str, precision: str) -> torch.autocast:
    """Return a context in which encoders compute in this precision of a recipe. It holds for one thread."""
    return torch.autocast(device, dtype=DTYPES.get(precision), enabled=precision in DTYPES)


def in_full(function: Callable[P, R]) -> Callable[P, R]:
    """Wrap `function` so that it computes in float32 or better, also under autocast.

    In bfloat16 a cosine of 0.999 divided by a temperature of 0.01 is wrong by a third of a nat.
    """

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        device = next(value.device.type for value in (*args, *kwargs.values()) if isinstance(value, Tensor))
        with torch.autocast(device, enabled=False):
            return function(*map(_wide, args), **{name: _wide(value) for name, value in kwargs.items()})  # type: ignore[arg-type]

    return run


def _wide(value: object) -> object:
    half = isinstance(value, Tensor) and value.dtype in (torch.float16, torch.bfloat16)
    return value.float() if half else value  # type: ignore[attr-defined]


@in_full
def products(left: Tensor, right: Tensor) -> Tensor:
    """Return the inner products of all rows: (B, D) and (N, D) to (B, N)."""
    return left @ right.T
