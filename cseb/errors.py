"""Errors a user can fix: each is one line that says what was found, what is allowed and what to try."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Collection, Iterable
from numbers import Integral
from typing import Any, TypeVar

from cseb import text

T = TypeVar("T")
LARGEST = sys.float_info.max


class CsebError(Exception):
    """An error a user can fix. `main()` prints it as one line on stderr and exits with 2."""

    def __init__(self, message: str) -> None:
        super().__init__(text.message(message))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the message alone: some kinds are made from other arguments. Workers of a pool send errors so."""
        return _again, (type(self), str(self))


def _again(kind: type[CsebError], message: str) -> CsebError:
    error = kind.__new__(kind, message)
    Exception.__init__(error, message)
    return error


class BadSpec(CsebError):
    """An invalid method, part or option."""


class DeviceMissing(CsebError):
    """A job was planned for a device that its process does not have."""

    def __init__(self, planned: str, present: str) -> None:
        super().__init__(
            f"this job was planned for {planned}, but PyTorch finds only {present} in its process; check the driver, "
            f"CUDA_VISIBLE_DEVICES and the GPUs of the allocation (--gres, --num-gpus), or use --device {present}"
        )


class BadBenchmark(CsebError):
    """A benchmark file or a combination of options that cannot be run."""


class BadData(CsebError):
    """A corpus, task file or encoder folder that cannot be read, or is not what it should be."""


class BadResults(CsebError):
    """A file or folder that cannot be written, or a record that cannot be trusted."""


class TrainingFailed(CsebError):
    """A training whose loss is no finite number, or that had too little memory."""


class UnknownName(CsebError):
    """A name that its registry does not have. remarks: further possible reasons, such as names that were left out.

    known, listed: as in `did_you_mean`.
    """

    def __init__(
        self,
        kind: str,
        name: str,
        known: Iterable[str],
        remarks: Iterable[str] = (),
        listed: Iterable[str] | None = None,
    ) -> None:
        super().__init__("; ".join([f"no {kind} is called {name!r}; {did_you_mean(name, known, listed)}", *remarks]))


MOST = 2**53  # the largest count that arithmetic in floating point keeps exact
OUT_OF_MEMORY = "out of memory"  # how the reason begins when a job had too little


# How PyTorch (CPU), CUDA and its libraries report, in a RuntimeError, that they had too little memory.
MEMORY_MESSAGES = (
    "can't allocate memory",
    "not enough memory",
    "CUDA error: out of memory",
    "CUDA out of memory",
    "CUBLAS_STATUS_ALLOC_FAILED",
    "CUDNN_STATUS_ALLOC_FAILED",
    "CUSOLVER_STATUS_ALLOC_FAILED",
    "MPS backend out of memory",
)
# A CUDA error other than exhausted memory leaves the process unable to use the GPU again.
CUDA_MESSAGES = ("CUDA error", "CUDA driver error", "CUBLAS_STATUS_", "CUDNN_STATUS_", "CUSOLVER_STATUS_", "NCCL error")


def memory_ran_out(error: BaseException) -> bool:
    """Return whether an exception reports exhausted memory: Python's, PyTorch's, or that of a CUDA library."""
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return True
    return isinstance(error, RuntimeError) and any(message in str(error) for message in MEMORY_MESSAGES)


def device_lost(error: BaseException) -> bool:
    """Return whether an exception means that this process can use its GPU no more."""
    if memory_ran_out(error):
        return False
    lost = type(error).__name__ == "AcceleratorError"
    return lost or (isinstance(error, RuntimeError) and any(message in str(error) for message in CUDA_MESSAGES))


def first_line(error: BaseException) -> str:
    """Return the first line of an exception's message, at most 200 characters of it."""
    lines = (line.strip() for line in str(error).splitlines())
    return text.shortened(next(filter(None, lines), type(error).__name__))


def did_you_mean(name: str, known: Iterable[str], listed: Iterable[str] | None = None) -> str:
    """Return the most similar of the known names, ignoring case, or all of them if none is similar.

    listed: names that are given in place of all of them.
    """
    names = sorted(known)
    lower = {candidate.lower(): candidate for candidate in names}
    similar = [lower[match] for match in difflib.get_close_matches(name.lower(), lower, n=3)]
    if similar:
        return f"did you mean {' or '.join(similar)}?"
    return f"known: {', '.join(names if listed is None else listed) or 'none'}"


def shortened(value: object) -> str:
    """Return a value as a message repeats it, in at most 80 characters. Huge integers are not written out."""
    if isinstance(value, int) and abs(value) > LARGEST:
        return "an integer too large for a computer's numbers"
    return text.shortened(repr(value), 80)


def number(value: object, what: str) -> float:
    """Return `value` if it is a finite number (True and False are not). Raises: BadSpec."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= LARGEST:  # nan too
        raise BadSpec(f"{what} is {shortened(value)}; a finite number is needed")
    return value


def above(bound: float, value: float, what: str) -> float:
    """Return `value` if it is a number above `bound`. Raises: BadSpec."""
    if number(value, what) <= bound:
        raise BadSpec(f"{what} is {value!r}; it must be above {bound}")
    return value


def between(low: float, high: float, value: float, what: str) -> float:
    """Return `value` if it is a number in [low, high]. Raises: BadSpec."""
    if not low <= number(value, what) <= high:
        raise BadSpec(f"{what} is {value!r}; it must lie between {low} and {high}")
    return value


def whole(low: int, value: int, what: str) -> int:
    """Return `value` as an int if it is an integer, of NumPy too, of at least `low`. Raises: BadSpec."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < low:
        raise BadSpec(f"{what} is {value!r}; it must be a whole number of at least {low}")
    if value > MOST:
        raise BadSpec(f"{what} is {shortened(value)}; it must be a whole number of at most {MOST}")
    return int(value)


def one_of(allowed: Collection[T], value: T, what: str) -> T:
    """Return `value` if it is among `allowed`. Raises: BadSpec."""
    if not any(value == choice and type(value) is type(choice) for choice in allowed):
        shown = [repr(choice) for choice in allowed if choice != ""]  # which stands for none typed
        raise BadSpec(f"{what} is {value!r}; allowed: {', '.join(shown)}")
    return value
