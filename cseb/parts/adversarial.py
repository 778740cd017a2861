"""The direction of steepest ascent of a loss with respect to vectors."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor


def steepest_direction(point: Tensor, loss: Callable[[Tensor], Tensor]) -> Tensor:
    """Return rows (N, D) of length 1 along which `loss` of `point` (N, D) grows fastest; 0 where it is flat.

    A gradient with respect to the point alone: no weight collects anything, and the answer is a constant. Source:
    Zhang et al. 2022 (VaSCL) and Zhou et al. 2022 (DCLR); authors' code.
    """
    with torch.enable_grad():
        start = point.detach().requires_grad_()
        gradient: Tensor = torch.autograd.grad(loss(start), start)[0]
    return F.normalize(gradient.nan_to_num(), dim=-1)
