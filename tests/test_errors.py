"""Errors a user can fix: what was found, what is allowed, and a near name."""

import pickle
from collections.abc import Callable

import numpy as np
import pytest

from cseb.errors import (
    BadSpec,
    CsebError,
    DeviceMissing,
    UnknownName,
    above,
    between,
    device_lost,
    did_you_mean,
    first_line,
    memory_ran_out,
    number,
    one_of,
    whole,
)


def test_near_names_are_suggested_else_all_are_listed() -> None:
    assert did_you_mean("simcze", ["simcse", "micse"]) == "did you mean simcse?"
    assert did_you_mean("qqqq", ["b", "a"]) == "known: a, b"
    assert str(UnknownName("term", "amy", ["ami"])).startswith("no term is called 'amy'; did you mean ami?")


@pytest.mark.parametrize(
    "error",
    [BadSpec("no"), UnknownName("term", "amy", ["ami"]), DeviceMissing("cuda", "cpu")],
    ids=lambda e: str(e)[:9],
)
def test_errors_survive_the_way_from_a_worker_of_a_pool(error: CsebError) -> None:
    """multiprocessing.Pool waited for ever for one that could not be unpickled."""
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), str(copy)) == (type(error), str(error))


def test_integers_of_numpy_are_whole_numbers() -> None:
    assert type(whole(0, np.int64(3), "x")) is int
    with pytest.raises(BadSpec, match="it must be a whole number"):
        whole(0, np.bool_(True), "x")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("check", "said"),
    [
        (lambda: number(float("nan"), "x"), "x is nan; a finite number is needed"),
        (lambda: number(True, "x"), "a finite number is needed"),
        (lambda: number(10**400, "x"), "a finite number is needed"),
        (lambda: whole(0, 10**400, "x"), "a whole number of at most"),
        (lambda: above(0, 0, "x"), "x is 0; it must be above 0"),
        (lambda: between(0, 1, 1.5, "x"), "x is 1.5; it must lie between 0 and 1"),
        (lambda: whole(1, 0, "x"), "x is 0; it must be a whole number of at least 1"),
        (lambda: whole(1, 2.5, "x"), "whole number"),
        (lambda: one_of(("h", "z"), "y", "x"), "x is 'y'; allowed: 'h', 'z'"),
    ],
)
def test_a_bad_value_is_one_line(check: Callable[[], object], said: str) -> None:
    with pytest.raises(BadSpec) as caught:
        check()
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_good_values_pass() -> None:
    assert (number(1.5, "x"), above(0, 0.1, "x"), between(0, 1, 1, "x")) == (1.5, 0.1, 1)
    assert (whole(1, 3, "x"), one_of("ab", "a", "x")) == (3, "a")


def test_exhausted_memory_is_recognised_and_other_errors_are_not() -> None:
    assert memory_ran_out(MemoryError())
    assert memory_ran_out(RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes"))
    assert not memory_ran_out(RuntimeError("shapes differ"))
    for message in (
        "CUDA out of memory. Tried to allocate 2.00 GiB",
        "CUDA error: out of memory",
        "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
        "cuDNN error: CUDNN_STATUS_ALLOC_FAILED",
    ):
        assert memory_ran_out(RuntimeError(message)), message
        assert not device_lost(RuntimeError(message)), message


def test_a_cuda_error_means_that_the_process_has_lost_its_gpu() -> None:
    for message in (
        "CUDA error: device-side assert triggered",
        "CUDA error: an illegal memory access was encountered",
        "CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasSgemm`",
    ):
        assert device_lost(RuntimeError(message)), message
        assert not memory_ran_out(RuntimeError(message)), message
    assert not device_lost(RuntimeError("shapes differ"))
    assert not device_lost(ValueError("CUDA error"))


def test_a_library_s_message_is_one_line() -> None:
    assert "\n" not in first_line(ValueError("first\nsecond"))
    assert first_line(ValueError("first\nsecond")).startswith("first")
