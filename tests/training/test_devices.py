"""A device that cannot do what a job asks is refused in one sentence, before anything is trained."""

import os
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
import torch
from torch import nn

from cseb.commands.hosts import workers_of
from cseb.encoder import architecture
from cseb.errors import BadBenchmark, BadSpec, CsebError, DeviceMissing, TrainingFailed
from cseb.methods.grammar import parse_method
from cseb.training import devices
from cseb.training.build import build, check
from cseb.training.devices import accelerator_of, check_memory, check_precision, set_deterministic
from tests.training.small_runs import Tiny


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


class OnGpu:
    """Accelerate on a GPU."""

    device = torch.device("cuda")

    def __init__(self, **options: Any) -> None:
        self.options = options


def test_tf32_is_set_for_the_jobs_that_ask_for_it_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "Accelerator", OnGpu)
    monkeypatch.setattr(torch.version, "cuda", "12.8")
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device=None: (8, 0))
    for precision, products in (("tf32", "high"), ("fp32", "highest"), ("tf32", "high"), ("bf16", "highest")):
        mixed = accelerator_of("cuda", precision).options["mixed_precision"]
        assert mixed == ("bf16" if precision == "bf16" else "no")
        assert torch.get_float32_matmul_precision() == products
        assert torch.backends.cudnn.allow_tf32 == (precision == "tf32")


def test_processes_wait_for_each_other_longer_than_a_job_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "Accelerator", OnGpu)
    waits = [getattr(handler, "timeout", None) for handler in accelerator_of("cuda", "fp32").options["kwargs_handlers"]]
    assert max(filter(None, waits)) >= timedelta(days=1)


def test_planning_and_building_touch_no_gpu(tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    """With four GPUs, a fork of the random state warns, and would start CUDA on each of them."""
    folder = tiny("bert")
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 4)
    monkeypatch.setattr(torch.random, "_fork_rng_warned_already", False)
    started: list[object] = []
    monkeypatch.setattr(torch.cuda, "_lazy_init", lambda: started.append(1))
    for name in ("simcse", "diffcse+rtd(generator=self)+recipe(dropout=0.01)"):
        architecture._check.cache_clear()
        check(parse_method(name).at(1.0), folder)
        build(parse_method(name).at(1.0), folder, 0)
    assert not started


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
