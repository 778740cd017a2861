"""The GPUs of this machine: each worker process uses one of them, and several workers may share it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

VISIBLE = "CUDA_VISIBLE_DEVICES"  # read by CUDA, and by ROCm's PyTorch, when they are first used


def gpus() -> tuple[str, ...]:
    """Return the GPUs this process may use, as CUDA_VISIBLE_DEVICES names them: numbers, or GPU-... and MIG-..."""
    if VISIBLE in os.environ:
        return tuple(name.strip() for name in os.environ[VISIBLE].split(",") if name.strip())
    import torch  # loaded already where jobs compute on a GPU

    return tuple(map(str, range(torch.cuda.device_count())))


def least_used(names: Sequence[str], used: Iterable[str]) -> str:
    """Return the GPU for one more worker; "" if there are no GPUs."""
    used = list(used)
    return min(names, key=used.count, default="")
