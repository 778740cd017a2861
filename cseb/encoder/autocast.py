"""Mixed precision: encoders may compute in half precision; losses are computed in float32."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import torch
from torch import Tensor

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
