"""The GPUs of this machine: each worker process sees one of them, and several workers may share it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

VISIBLE = "CUDA_VISIBLE_DEVICES"  # read by CUDA, and by ROCm's PyTorch, when they are first used


def gpus() -> tuple[str, ...]:
    """The GPUs this process may use, by the names that CUDA_VISIBLE_DEVICES takes: numbers, or GPU-... and MIG-..."""
    if VISIBLE in os.environ:
        return tuple(name.strip() for name in os.environ[VISIBLE].split(",") if name.strip())
    import torch  # only where jobs compute on a GPU, so that it has been loaded before

    return tuple(map(str, range(torch.cuda.device_count())))


def least_used(names: Sequence[str], taken: Iterable[str]) -> str:
    """The GPU for one more worker, "" if there is none to choose."""
    busy = list(taken)
    return min(names, key=busy.count, default="")
