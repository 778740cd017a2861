"""The device of a training run: whether it can do what a method asks, and the arithmetic that is set on it."""

from __future__ import annotations

import os
from collections.abc import Iterable

import torch
from accelerate import Accelerator
from accelerate.state import AcceleratorState
from accelerate.utils import DistributedDataParallelKwargs, InitProcessGroupKwargs
from torch import nn

from cseb.encoder.distributed import LONGEST_WAIT
from cseb.errors import BadSpec, DeviceMissing, TrainingFailed

AMPERE = 8  # the first number of the compute capability from which NVIDIA's GPUs have bf16 and TF32
BYTES_PER_WEIGHT = 16  # weight, gradient and two moments of AdamW, in float32


def accelerator_of(device: str, precision: str) -> Accelerator:
    """Return the Accelerator of one training, with the arithmetic of float32 set. Raises: BadSpec, DeviceMissing."""
    AcceleratorState._reset_state(reset_partial_state=True)  # a worker runs jobs of different precision in turn
    accelerator = Accelerator(
        cpu=device == "cpu",
        mixed_precision="no" if precision in ("fp32", "tf32") else precision,
        kwargs_handlers=[
            DistributedDataParallelKwargs(find_unused_parameters=True),  # such as a pooler that no term reads
            InitProcessGroupKwargs(timeout=LONGEST_WAIT),
        ],
    )
    if accelerator.device.type != device:  # Accelerate falls back to the CPU without a warning
        raise DeviceMissing(device, accelerator.device.type)
    check_precision(device, precision)
    torch.set_float32_matmul_precision("high" if precision == "tf32" else "highest")
    torch.backends.cudnn.allow_tf32 = precision == "tf32"
    return accelerator


def check_precision(device: str, precision: str, option: str = "precision") -> None:
    """Raise BadSpec if the device does not have this precision. option: of the recipe."""
    if device == "cpu" and precision == "tf32":
        raise BadSpec("recipe: precision=tf32 is of NVIDIA's GPUs, and this job runs on a CPU; take fp32")
    if device != "cuda" or precision not in ("tf32", "bf16") or torch.version.cuda is None:  # AMD's have other numbers
        return
    major, minor = torch.cuda.get_device_capability()
    if major < AMPERE:
        raise BadSpec(
            f"recipe: {option}={precision} needs an NVIDIA GPU of compute capability {AMPERE}.0 (Ampere) or later; "
            f"{torch.cuda.get_device_name()} has {major}.{minor}; take fp16 or fp32"
        )


def check_memory(device: torch.device, modules: Iterable[nn.Module]) -> None:
    """Raise TrainingFailed if the free memory of a GPU is less than these modules need to be trained."""
    if device.type != "cuda":
        return
    free, total = torch.cuda.mem_get_info(device)
    needed = BYTES_PER_WEIGHT * sum(weight.numel() for module in modules for weight in module.parameters())
    if free < needed:
        raise TrainingFailed(
            f"{torch.cuda.get_device_name(device)} has {free / 2**30:.1f} of {total / 2**30:.1f} GB free; weights, "
            f"gradients and optimiser of this encoder need {needed / 2**30:.1f} GB; end other programs on it, take "
            "fewer jobs for each GPU, or choose another GPU with CUDA_VISIBLE_DEVICES"
        )


def set_deterministic(deterministic: bool, device: str) -> None:
    """Let PyTorch take deterministic algorithms alone on a GPU; on a CPU it does so anyway.

    Call it before the first computation on the GPU. Source: PyTorch's notes on reproducibility.
    """
    if device == "cpu":
        return
    if deterministic:
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.use_deterministic_algorithms(deterministic)
    torch.backends.cudnn.benchmark = False
    torch.backends.cudnn.deterministic = deterministic
