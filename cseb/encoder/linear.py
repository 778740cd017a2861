"""Matrix products of float32 linear layers on a CPU, by one of the two libraries that PyTorch includes.

PyTorch uses its BLAS, on x86 Intel's MKL. On an AMD EPYC with AVX-512 this reaches 80 GFLOP/s per core, oneDNN 190; on
an Intel Xeon oneDNN is slower, by a fifth in training. Results differ by rounding. `linear_choice` selects the library.
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

_taken: Library = "blas"  # for the whole process, like torch's number of threads


def available() -> bool:
    """Return whether this PyTorch has the private oneDNN operator for linear layers."""
    built: bool = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    return built and hasattr(torch.ops.mkldnn, "_linear_pointwise")


def taken() -> Library:
    """Return the library in use."""
    return _taken


def take(library: Library) -> None:
    """Use this library for all linear layers of encoders; oneDNN must be `available`."""
    global _taken  # noqa: PLW0603
    _taken = library


@contextmanager
def taking(library: Library) -> Iterator[None]:
    """Use this library within the context."""
    before = _taken
    take(library)
    try:
        yield
    finally:
        take(before)


def chosen() -> AbstractContextManager[Any]:
    """Return a context in which linear layers are computed by the library in use."""
    return OneDNN() if _taken == "onednn" else nullcontext()


class OneDNN(TorchFunctionMode):
    """Context in which oneDNN computes float32 linear layers on a CPU, and their first gradients."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Called by PyTorch in place of `func`."""
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
        needed = ctx.needs_input_grad
        rows = gradient.flatten(0, -2)
        return (
            _product(gradient, weight.t().contiguous()) if needed[0] else None,
            _product(rows.t().contiguous(), x.flatten(0, -2).t().contiguous()) if needed[1] else None,
            rows.sum(0) if needed[2] else None,
        )


def _product(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return `x` (..., I) times the transpose of `weight` (O, I), plus `bias` (O,): (..., O)."""
    product: Tensor = torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", [], "")
    return product
