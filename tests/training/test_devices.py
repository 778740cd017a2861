"""A device that cannot do what a job asks is refused in one sentence, before anything is trained."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
import torch
from torch import nn

from cseb.commands.hosts import workers_of
from cseb.errors import BadBenchmark, BadSpec, CsebError, DeviceMissing, TrainingFailed
from cseb.training.devices import accelerator_of, check_memory, check_precision, set_deterministic


@pytest.fixture
def turing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A GPU from before Ampere, with 1 of 16 GB free."""
    monkeypatch.setattr(torch.version, "cuda", "12.8")
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device=None: (7, 5))
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device=None: "Tesla T4")
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device=None: (2**30, 2**34))


def refused(error: type[CsebError], call, *arguments: object) -> str:
    with pytest.raises(error) as caught:
        call(*arguments)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_job_for_a_gpu_does_not_run_on_a_cpu() -> None:
    message = refused(DeviceMissing, accelerator_of, "cuda", "fp32")
    assert message.startswith("this job was planned for cuda, but PyTorch finds only cpu in its process; check")


def test_tf32_is_refused_on_a_cpu() -> None:
    assert refused(BadSpec, accelerator_of, "cpu", "tf32").endswith("this job runs on a CPU; take fp32")


@pytest.mark.usefixtures("turing")
@pytest.mark.parametrize("precision", ["bf16", "tf32"])
def test_precisions_of_ampere_are_refused_on_older_gpus(precision: str) -> None:
    message = refused(BadSpec, check_precision, "cuda", precision)
    assert message == (
        f"recipe: precision={precision} needs an NVIDIA GPU of compute capability 8.0 (Ampere) or later; Tesla T4 has "
        "7.5; take fp16 or fp32"
    )
    for other in ("fp32", "fp16"):
        check_precision("cuda", other)


@pytest.mark.usefixtures("turing")
def test_a_full_gpu_is_refused() -> None:
    with torch.device("meta"):
        large, small = nn.Linear(10_000, 10_000), nn.Linear(100, 100)
    check_memory(torch.device("cuda"), [small])
    check_memory(torch.device("cpu"), [large])
    message = refused(TrainingFailed, check_memory, torch.device("cuda"), [small, large])
    assert "Tesla T4 has 1.0 of 16.0 GB free; weights, gradients and optimiser of this encoder need 1.5 GB" in message


def test_more_processes_than_gpus_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")
    message = refused(BadBenchmark, workers_of, "auto", 1, "cuda", None, False, 4)
    assert message == "4 processes need a GPU each, and 2 can be used here; take 2 or `device` cpu"
    assert workers_of("auto", 1, "cuda", processes=2) == workers_of("auto", 1, "cpu", processes=4) == 1
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")  # four processes on two machines
    assert workers_of("auto", 1, "cuda", processes=4) == 1


@pytest.fixture
def settings(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("CUBLAS_WORKSPACE_CONFIG", raising=False)
    yield
    set_deterministic(False, "cuda")
    os.environ.pop("CUBLAS_WORKSPACE_CONFIG", None)


@pytest.mark.usefixtures("settings")
def test_deterministic_mode_is_set_on_a_gpu_alone() -> None:
    set_deterministic(True, "cpu")
    assert not torch.are_deterministic_algorithms_enabled()
    set_deterministic(True, "cuda")
    assert torch.are_deterministic_algorithms_enabled()
    assert torch.backends.cudnn.deterministic
    assert os.environ["CUBLAS_WORKSPACE_CONFIG"] == ":4096:8"
    set_deterministic(False, "cuda")  # the next job of the worker
    assert not torch.are_deterministic_algorithms_enabled()
