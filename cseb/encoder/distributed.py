"""Several processes train one encoder: each encodes its part of a batch's rows, and every loss sees all of them.

The reference trainers let every process see its own negatives alone, or scale gradients wrongly; here loss and
gradient are those of one process with the whole batch.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from accelerate import PartialState
from torch import Tensor

# PyTorch's default of 10 minutes (NCCL) or 30 (gloo) is shorter than some tasks take on the process that scores them.
LONGEST_WAIT = timedelta(days=2)


@dataclass(frozen=True, slots=True)
class DistributedContext:
    """The place of this process in distributed training: `rank` of `count`. With one process nothing changes."""

    rank: int = 0
    count: int = 1

    @property
    def main(self) -> bool:
        """Whether this process scores, writes and prints."""
        return self.rank == 0

    def own(self, values: Tensor, blocks: int = 1) -> Tensor:
        """This process's rows of each of `blocks` equal blocks of `values` (blocks B, ...): (blocks ceil(B / P), ...).

        Every process gets equally many: the last row is repeated where they do not come out even.
        """
        if self.count == 1:
            return values
        rows = len(values) // blocks
        size = -(-rows // self.count)
        mine = torch.arange(self.rank * size, (self.rank + 1) * size, device=values.device).clamp(max=rows - 1)
        return torch.cat([block[mine] for block in values.chunk(blocks)])

    def gather(self, values: Tensor, rows: int, blocks: int = 1) -> Tensor:
        """The inverse of `own`: every process's rows in order, (blocks rows, ...), repeated ones left out.

        The gradient that reaches a process's rows is the sum of what all processes found: with gradients of weights
        averaged over processes, that of the mean loss.
        """
        if self.count == 1:
            return values
        apply: Callable[[Tensor, DistributedContext], Tensor] = _Gather.apply
        return torch.cat([apply(block.contiguous(), self)[:rows] for block in values.chunk(blocks)])

    def mean(self, value: Tensor) -> Tensor:
        """The mean over processes, so that all of them take the same decision."""
        if self.count > 1:
            value = value.clone()
            dist.all_reduce(value)
            value /= self.count
        return value

    def others(self, value: float, device: str) -> float:
        """The sum of what the other processes pass, all of which have to ask; 0 where nothing has connected them."""
        if self.count == 1 or not dist.is_initialized():
            return 0.0
        total = torch.tensor(value, dtype=torch.float64, device=device)
        dist.all_reduce(total)
        return float(total) - value


SINGLE_PROCESS = DistributedContext()


def distributed_context() -> DistributedContext:
    """Rank and number of processes, from the variables that `accelerate launch` and torchrun set."""
    count = int(os.environ.get("WORLD_SIZE", "1"))
    return DistributedContext(int(os.environ["RANK"]), count) if count > 1 else SINGLE_PROCESS


def agreed(found: list[str], device: str, threads: int) -> list[str]:
    """Broadcast what the first process found, so that all processes agree; connects them if necessary."""
    os.environ.setdefault("OMP_NUM_THREADS", str(threads))  # else Accelerate sets another number
    PartialState(cpu=device == "cpu", timeout=LONGEST_WAIT)
    objects = [found]
    dist.broadcast_object_list(objects, src=0)
    return objects[0]


class _Gather(torch.autograd.Function):
    """What torch.distributed.nn.functional.all_gather does, which PyTorch 2.13 deprecates for a private function.

    Loss and gradients of the two are equal; that one is a third slower over gloo.
    """

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
