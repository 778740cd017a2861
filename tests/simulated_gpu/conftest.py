"""The simulated GPU in place of CUDA: Accelerate chooses it, and everything runs under its rules."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.simulated_gpu import device  # before cseb is imported: it replaces torch.Generator

import torch  # isort: skip
from accelerate import Accelerator, PartialState  # isort: skip
from tests.simulated_gpu import autocast  # noqa: F401  # isort: skip

_initialise = Accelerator.__init__


def initialise(accelerator: Any, *args: Any, mixed_precision: str = "no", cpu: bool = False, **options: Any) -> None:
    """Make an Accelerator on the simulated GPU, where autocast applies to it.

    The loss scaler of fp16 is set here: Accelerate's list of devices for it lacks the simulated one.
    """
    fp16 = mixed_precision == "fp16"
    _initialise(accelerator, *args, mixed_precision="no" if fp16 else mixed_precision, cpu=cpu, **options)
    if not cpu:
        for state in (PartialState(), accelerator.state):  # Accelerate takes the type for autocast from them
            state.device = device.DEVICE
    if fp16:
        accelerator.state._mixed_precision = "fp16"
        accelerator.native_amp = True
        accelerator.scaler = torch.amp.GradScaler(device.NAME)


@pytest.fixture(autouse=True)
def gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Run a test on the simulated GPU."""
    monkeypatch.setattr(Accelerator, "__init__", initialise)
    device.waits.clear()
    device.operations.clear()
    with device.Strict():
        yield
