"""Dropout with masks that are cheap to draw on a CPU."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

STEPS = 1 << 16  # rates are multiples of 1 / STEPS, so that 16 bits decide: 0.1 is 0.100006


def dropped(x: Tensor, rate: float, onto: Tensor | None = None) -> Tensor:
    """Set elements of `x` to 0 with probability `rate`, divide the others by 1 - rate, and add the result to `onto`.

    Four elements share one draw of 64 bits from torch's own generator; torch.nn.functional.dropout draws for each.
    """
    dropped_steps = round(rate * STEPS)
    if dropped_steps == 0:
        return x if onto is None else onto + x
    if x.device.type != "cpu" or dropped_steps == STEPS:
        result = F.dropout(x, rate)
        return result if onto is None else onto + result
    words = torch.empty(-(-x.numel() // 4), dtype=torch.int64).random_(-(1 << 63), None)
    kept = torch.empty(x.shape, dtype=x.dtype)
    torch.ge(words.view(torch.int16)[: x.numel()].view(x.shape), dropped_steps - STEPS // 2, out=kept)
    return torch.addcmul(x.new_zeros(()) if onto is None else onto, x, kept, value=STEPS / (STEPS - dropped_steps))
