"""Mixed precision: encoders may compute in half precision, losses are always computed in float32."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import torch
from torch import Tensor

P = ParamSpec("P")
R = TypeVar("R")


def in_full(function: Callable[P, R]) -> Callable[P, R]:
    """`function`, computed in float32 or better whatever its tensors are and whatever surrounds it.

    A product of float32 matrices would be one of bfloat16 under autocast: a cosine of 0.999 over a temperature of 0.01
    is then off by a third of a nat, and a sentence's similarity to itself is rounded to that to its neighbour.
    """

    @functools.wraps(function)
    def run(*given: P.args, **named: P.kwargs) -> R:
        kind = next(value.device.type for value in (*given, *named.values()) if isinstance(value, Tensor))
        with torch.autocast(kind, enabled=False):
            return function(*map(_wide, given), **{name: _wide(value) for name, value in named.items()})  # type: ignore[arg-type]

    return run


def _wide(value: object) -> object:
    half = isinstance(value, Tensor) and value.dtype in (torch.float16, torch.bfloat16)
    return value.float() if half else value  # type: ignore[attr-defined]


@in_full
def products(left: Tensor, right: Tensor) -> Tensor:
    """All inner products of rows: (B, D) and (N, D) to (B, N)."""
    return left @ right.T
