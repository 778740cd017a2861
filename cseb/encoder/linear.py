"""The matrix products of float32 linear layers on a CPU, by either of the two libraries that PyTorch brings along.

PyTorch gives them to its BLAS, on x86 Intel's MKL. On an AMD EPYC with AVX-512 that does 80 GFLOP/s on one core where
oneDNN does 190; on an Intel Xeon it is oneDNN that is slower, by a fifth in training. Both sum in float32; results
differ by rounding alone. `linear_choice` says which of them a process takes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.overrides import TorchFunctionMode

Library = Literal["blas", "onednn"]

_taken: Library = "blas"  # for the whole process, as torch's number of threads


def available() -> bool:
    """Whether this PyTorch can be told to take oneDNN: its operator for that is private, and may go."""
    built: bool = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    return built and hasattr(torch.ops.mkldnn, "_linear_pointwise")


def taken() -> Library:
    """The library that this process takes."""
    return _taken


def take(library: Library) -> None:
    """Take this library for all linear layers of encoders from now on; oneDNN has to be `available`."""
    global _taken  # noqa: PLW0603
    _taken = library


@contextmanager
def taking(library: Library) -> Iterator[None]:
    """Take this library, and afterwards the one of before."""
    before = _taken
    take(library)
    try:
        yield
    finally:
        take(before)


def chosen() -> AbstractContextManager[Any]:
    """Context in which linear layers are computed by the library that is taken; PyTorch's own costs nothing."""
    return OneDNN() if _taken == "onednn" else nullcontext()


class OneDNN(TorchFunctionMode):
    """Within this context float32 linear layers on a CPU are computed by oneDNN, gradients too; all else is as it was.

    Gradients can be taken once, not twice.
    """

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """What PyTorch calls in place of `func`."""
        if func is F.linear and not kwargs and len(args) == 3 and _suits(args[0], args[1]):
            return _Linear.apply(*args)  # type: ignore[no-untyped-call]
        return func(*args, **(kwargs or {}))


def _suits(x: Tensor, weight: Tensor) -> bool:
    return (
        x.dtype == weight.dtype == torch.float32
        and x.device.type == "cpu"
        and x.dim() > 1
        and x.numel() > 0
        and not torch.is_autocast_enabled("cpu")
    )


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(x, weight)
        return _product(x, weight, bias)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        x, weight = ctx.saved_tensors
        wanted = ctx.needs_input_grad
        rows = gradient.flatten(0, -2)
        return (
            _product(gradient, weight.t().contiguous()) if wanted[0] else None,
            _product(rows.t().contiguous(), x.flatten(0, -2).t().contiguous()) if wanted[1] else None,
            rows.sum(0) if wanted[2] else None,
        )


def _product(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """`x` (..., I) times the transpose of `weight` (O, I), plus `bias` (O,): (..., O)."""
    found: Tensor = torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", [], "")
    return found
