"""Matrix products of float32 linear layers on a CPU, by one of the two libraries that PyTorch includes.

PyTorch uses its BLAS, on x86 Intel's MKL. On an AMD EPYC with AVX-512 this reaches 80 GFLOP/s per core, oneDNN 190; on
an Intel Xeon oneDNN is slower, by a fifth in training. Results differ by rounding. `resolved` selects the library.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, cast

import torch
import torch.nn.functional as F
from platformdirs import user_cache_path
from torch import Tensor
from torch.overrides import TorchFunctionMode, _get_current_function_mode_stack

from cseb.data.bounded import read_object
from cseb.data.files import write_whole
from cseb.errors import BadData, BadSpec, one_of
from cseb.processor import processor

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


def current() -> AbstractContextManager[Any]:
    """Return a context in which linear layers are computed as they are here, inside of `chosen` or outside."""
    inside = any(isinstance(mode, OneDNN) for mode in _get_current_function_mode_stack())  # type: ignore[no-untyped-call]
    return OneDNN() if inside else nullcontext()


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
            x, *weights = args
            rows = _Linear.apply(x.flatten(0, -2), *weights)  # type: ignore[no-untyped-call]
            return rows.unflatten(
                0, x.shape[:-1]
            )  # here, as networks may change a view of ours in place, not _Linear's
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
    """A linear layer of rows: (N, I), (O, I) and (O,) or None to (N, O)."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(x, weight)
        return _product(x, weight, bias)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        x, weight = ctx.saved_tensors
        needed = ctx.needs_input_grad
        return (
            _product(gradient, weight.t().contiguous()) if needed[0] else None,
            _product(gradient.t().contiguous(), x.t().contiguous()) if needed[1] else None,
            gradient.sum(0) if needed[2] else None,
        )


def _product(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return `x` (N, I) times the transpose of `weight` (O, I), plus `bias` (O,): (N, O)."""
    product: Tensor = torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", [], "")
    return product


AUTO = "auto"
LIBRARIES = ("blas", "onednn")
SIZES = ((384, 1536), (1536, 384), (768, 768))  # in and out, of layers of common encoders
ROWS = 256  # tokens; with more of them the order of the libraries is the same
ROUNDS = 2
MARGIN = 1.1  # oneDNN must be faster by this factor, so that noise does not decide


def resolved(option: str, threads: int, device: str = "cpu") -> Library:
    """Return the library for this option. Raises: BadSpec if it is unknown or not available."""
    one_of((AUTO, *LIBRARIES), option, "`linear`")
    if device != "cpu" or option == "blas":
        return "blas"
    if option == "onednn":
        if not available():
            raise BadSpec(
                "`linear` onednn: this PyTorch has no oneDNN operator for linear layers; use `linear` auto or blas"
            )
        return "onednn"
    file, name = user_cache_path("cseb") / "linear.json", f"{processor()}, torch {version('torch')}, {threads} threads"
    results = _stored(file)
    if name not in results:
        results[name] = _faster(threads)
        with contextlib.suppress(OSError):
            write_whole(file, [json.dumps(results, indent=1).encode()])
    return results[name]


def _stored(file: Path) -> dict[str, Library]:
    """Return the stored results; none if the file is missing or damaged."""
    try:
        content = read_object(file)
    except BadData:
        return {}
    return {name: cast("Library", library) for name, library in content.items() if library in LIBRARIES}


def _faster(threads: int) -> Library:
    """Return the library that is faster for layers of common sizes, forward and backward."""
    if not available():
        return "blas"
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        seconds = timed()
    finally:
        torch.set_num_threads(before)
    return "onednn" if seconds["onednn"] * MARGIN < seconds["blas"] else "blas"


def timed() -> dict[Library, float]:
    """Return the seconds of each library for all SIZES, the best of ROUNDS, with torch's current threads."""
    total: dict[Library, float] = {"blas": 0.0, "onednn": 0.0}
    generator = torch.Generator().manual_seed(0)  # the global generator must not change
    for width, out in SIZES:
        shapes = ((ROWS, width), (out, width), (out,))
        x, weight, bias = (torch.randn(shape, generator=generator).requires_grad_() for shape in shapes)
        best = dict.fromkeys(total, float("inf"))
        for turn in range(ROUNDS + 1):  # the first round is a warm-up
            for library in total:
                start = time.perf_counter()
                with taking(library), chosen():
                    output = F.linear(x, weight, bias)
                torch.autograd.grad(output, (x, weight, bias), torch.ones_like(output))
                if turn:
                    best[library] = min(best[library], time.perf_counter() - start)
        total = {library: total[library] + best[library] for library in total}
    return total
