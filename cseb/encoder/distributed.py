"""Distributed training: each process encodes its part of a batch, and every loss is computed over the whole batch.

Loss and gradients are those of one process with the whole batch. Reference trainers use the negatives of each process
alone, or scale gradients wrongly.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import torch
import torch.distributed as dist
from accelerate import PartialState
from torch import Tensor

# PyTorch's default of 10 minutes (NCCL) or 30 (gloo) is shorter than scoring takes on some tasks.
LONGEST_WAIT = timedelta(days=2)

Batch = TypeVar("Batch")


@dataclass(frozen=True, slots=True)
class DistributedContext:
    """Rank of this process and number of processes."""

    rank: int = 0
    count: int = 1

    @property
    def main(self) -> bool:
        """Whether this process writes and prints."""
        return self.rank == 0

    def own(self, values: Tensor, blocks: int = 1) -> Tensor:
        """Return this process's rows of each of `blocks` equal blocks: (blocks B, ...) to (blocks ceil(B / P), ...).

        All processes get the same number of rows; the last row is repeated if necessary.
        """
        if self.count == 1:
            return values
        rows = len(values) // blocks
        size = -(-rows // self.count)
        mine = torch.arange(self.rank * size, (self.rank + 1) * size, device=values.device).clamp(max=rows - 1)
        return torch.cat([block[mine] for block in values.chunk(blocks)])

    def gather(self, values: Tensor, rows: int, blocks: int = 1) -> Tensor:
        """Invert `own`: return the rows of all processes in order, (blocks rows, ...), without repeated ones.

        The gradient of a process's rows is the sum over all processes. As gradients of weights are averaged over
        processes, this is the gradient of the mean loss.
        """
        if self.count == 1:
            return values
        apply: Callable[[Tensor, DistributedContext], Tensor] = _Gather.apply
        return torch.cat([apply(block.contiguous(), self)[:rows] for block in values.chunk(blocks)])

    def share(self, batches: list[Batch]) -> list[Batch]:
        """Return the batches of this process; all of them if there are fewer than processes."""
        return batches[self.rank :: self.count] if len(batches) >= self.count else batches

    def total(self, values: npt.NDArray[np.float32], rows: int, device: torch.device) -> npt.NDArray[np.float32]:
        """Return the sum of the arrays of all processes, if this one has filled some of their rows alone."""
        if rows == len(values):
            return values
        total = torch.from_numpy(values).to(device)
        dist.all_reduce(total)
        return total.cpu().numpy()

    def mean(self, value: Tensor) -> Tensor:
        """Return the mean over processes, so that all of them take the same decision."""
        if self.count > 1:
            value = value.clone()
            dist.all_reduce(value)
            value /= self.count
        return value

    def others(self, value: float, device: str) -> float:
        """Return the sum of the other processes' values; all processes must call this. 0 if they are not connected."""
        if self.count == 1 or not dist.is_initialized():
            return 0.0
        total = torch.tensor(value, dtype=torch.float64, device=device)
        dist.all_reduce(total)
        return float(total) - value


SINGLE_PROCESS = DistributedContext()


def distributed_context() -> DistributedContext:
    """Return rank and number of processes from the variables that `accelerate launch` and torchrun set."""
    count = int(os.environ.get("WORLD_SIZE", "1"))
    return DistributedContext(int(os.environ["RANK"]), count) if count > 1 else SINGLE_PROCESS


def agreed(texts: list[str], device: str, threads: int) -> list[str]:
    """Return the first process's texts in all processes, which are connected if necessary."""
    os.environ.setdefault("OMP_NUM_THREADS", str(threads))  # otherwise Accelerate sets another number
    PartialState(cpu=device == "cpu", timeout=LONGEST_WAIT)
    objects = [texts]
    dist.broadcast_object_list(objects, src=0)
    return objects[0]


class _Gather(torch.autograd.Function):
    """Differentiable all_gather, which PyTorch 2.13 deprecates; a third faster over gloo than its version."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, of: DistributedContext) -> Tensor:
        ctx.context, ctx.size = of, len(values)
        pieces = [torch.empty_like(values) for _ in range(of.count)]
        dist.all_gather(pieces, values)
        return torch.cat(pieces)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        (gradient,) = gradients
        total = gradient.contiguous().clone()
        dist.all_reduce(total)
        return total[ctx.context.rank * ctx.size : (ctx.context.rank + 1) * ctx.size], None
