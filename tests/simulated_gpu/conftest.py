"""The simulated GPU in place of CUDA: Accelerate chooses it, and everything runs under its rules."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.simulated_gpu import device  # before cseb is imported: it replaces torch.Generator

import torch  # isort: skip
from accelerate import Accelerator  # isort: skip
from tests.simulated_gpu import autocast  # noqa: F401  # isort: skip

_initialise = Accelerator.__init__


def initialise(accelerator: Any, *args: Any, mixed_precision: str = "no", **options: Any) -> None:
    """Make an Accelerator; its list of devices for fp16 lacks the simulated one, so the loss scaler is set here."""
    fp16 = mixed_precision == "fp16"
    accelerator.simulated = not options.get("cpu")
    _initialise(accelerator, *args, mixed_precision="no" if fp16 else mixed_precision, **options)
    if fp16:
        accelerator.state._mixed_precision = "fp16"
        accelerator.native_amp = True
        accelerator.scaler = torch.amp.GradScaler(device.NAME)


def _device(accelerator: Any) -> torch.device:
    return device.DEVICE if accelerator.simulated else torch.device("cpu")


@pytest.fixture(autouse=True)
def gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Run a test on the simulated GPU."""
    monkeypatch.setattr(Accelerator, "device", property(_device))
    monkeypatch.setattr(Accelerator, "__init__", initialise)
    device.waits.clear()
    with device.Strict():
        yield
