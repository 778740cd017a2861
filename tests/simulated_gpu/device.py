"""A simulated GPU: a PyTorch backend named "fake" whose tensors hold real numbers in CPU memory.

It is strict where a GPU is: tensors of two devices in one operation, and a generator of another device, raise
RuntimeError. Operations for which the host would wait for a GPU are counted in `waits`. Kernels and times are not
simulated.

PyTorch accepts one such backend in a process and changes global state for it, so these tests run in processes of their
own (`make test` starts them). `_setup_privateuseone_for_python_backend` is experimental: it fits the pinned torch.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch.utils._python_dispatch import TorchDispatchMode, return_and_correct_aliasing
from torch.utils._pytree import tree_leaves, tree_map
from torch.utils.backend_registration import _DummyBackendModule, _setup_privateuseone_for_python_backend

NAME = "fake"
PACKAGE = str(Path(__file__).parents[2] / "cseb")
aten = torch.ops.aten
CpuGenerator = torch.Generator
waits: Counter[tuple[str, str]] = Counter()  # (file:line of cseb, operation) of every wait of the host
operations: set[str] = set()  # names of all that was computed on the device


class Backend(_DummyBackendModule):
    """The functions that PyTorch and Accelerate ask a device module for; random state is that of the CPU."""

    def get_amp_supported_dtype(self) -> list[torch.dtype]:
        return [torch.bfloat16, torch.float16]

    def get_rng_state(self, device: Any = 0) -> torch.Tensor:
        return torch.get_rng_state()

    def set_rng_state(self, state: torch.Tensor, device: Any = 0) -> None:
        torch.set_rng_state(state)

    def get_device_name(self, device: Any = 0) -> str:
        return "Simulated GPU"

    def synchronize(self, device: Any = None) -> None:
        pass

    def empty_cache(self) -> None:
        pass

    def max_memory_allocated(self, device: Any = None) -> int:
        return 0

    def _lazy_init(self) -> None:
        pass


class Generator(CpuGenerator):
    """A CPU generator that says it belongs to the device it was made for."""

    devices: ClassVar[dict[int, torch.device]] = {}

    def __new__(cls, device: Any = "cpu") -> Generator:
        made = CpuGenerator.__new__(cls)
        cls.devices[made._cdata] = torch.device(device)
        return made

    def __init__(self, device: Any = "cpu") -> None:
        pass

    @property
    def device(self) -> torch.device:
        return self.devices[self._cdata]


_setup_privateuseone_for_python_backend(NAME, backend_module=Backend())
torch._C._set_only_lift_cpu_tensors(True)
torch.__future__.set_swap_module_params_on_conversion(True)
torch.Generator = Generator
torch.inference_mode = torch.no_grad  # wrapped tensors cannot be inference tensors
DEVICE = torch.device(NAME, 0)


class SimulatedTensor(torch.Tensor):
    """A tensor on the simulated device. values: its numbers, a CPU tensor."""

    values: torch.Tensor

    @staticmethod
    def __new__(cls, values: torch.Tensor) -> SimulatedTensor:
        return torch.Tensor._make_wrapper_subclass(
            cls, values.size(), strides=values.stride(), storage_offset=values.storage_offset(), dtype=values.dtype,
            layout=values.layout, device=DEVICE, requires_grad=False,
        )  # fmt: skip

    def __init__(self, values: torch.Tensor) -> None:
        self.values = values

    def __repr__(self) -> str:
        return f"SimulatedTensor({self.values})"

    __torch_function__ = torch._C._disabled_torch_function_impl

    @classmethod
    def __torch_dispatch__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return run(function, args, kwargs or {})


class Strict(TorchDispatchMode):
    """Context in which operations that create tensors on the simulated device are served."""

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        leaves = tree_leaves((args, kwargs))
        if _on_device(kwargs) or any(isinstance(leaf, SimulatedTensor | Generator) for leaf in leaves):
            return run(function, args, kwargs)
        return function(*args, **kwargs)


COPIES = {aten.copy_.default, aten._to_copy.default, aten.copy.default}  # the only operations that may mix devices
WAITING = {
    aten._local_scalar_dense.default, aten.nonzero.default, aten.masked_select.default, aten.is_nonzero.default,
    aten.equal.default, aten.unique_consecutive.default, aten._unique2.default, aten.unique_dim.default,
    aten.repeat_interleave.Tensor,
}  # fmt: skip  # their result, or its size, is read by the host
INDEXING = {
    aten.index.Tensor, aten.index_put_.default, aten.index_put.default, aten._index_put_impl_.default,
    aten._unsafe_index.Tensor,
}  # fmt: skip  # indices may lie on the CPU; a boolean one on the device has to be counted first


def run(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Compute one operation on the CPU, as the simulated device: check devices and generators, count waits."""
    leaves = tree_leaves((args, kwargs))
    simulated = [leaf for leaf in leaves if isinstance(leaf, SimulatedTensor)]
    result_is_simulated = _result_is_simulated(function, args, kwargs, bool(simulated))
    if simulated and function not in COPIES:
        _check_devices(function, args, leaves)
    _check_generator(function, leaves, result_is_simulated)
    _count_waits(function, args, kwargs, bool(simulated))
    plain_kwargs = {
        name: torch.device("cpu") if name == "device" and value is not None else value for name, value in kwargs.items()
    }
    plain_args, plain_kwargs = tree_map(_values, (args, plain_kwargs))
    result = function(*plain_args, **plain_kwargs)
    if function is aten._local_scalar_dense.default or not (result_is_simulated or simulated):
        return result
    if function is aten._to_copy.default and result is plain_args[0]:
        result = result.clone()
    if any(argument.alias_info is not None and argument.alias_info.is_write for argument in function._schema.arguments):
        return _written(function, args, kwargs)
    wrapped = tree_map(
        lambda leaf: SimulatedTensor(leaf) if isinstance(leaf, torch.Tensor) and result_is_simulated else leaf, result
    )
    if result_is_simulated and simulated:
        try:
            return return_and_correct_aliasing(function, args, kwargs, wrapped)
        except (RuntimeError, AssertionError):
            return wrapped
    return wrapped


def _on_device(kwargs: dict[str, Any]) -> bool:
    return kwargs.get("device") is not None and torch.device(kwargs["device"]).type == NAME


def _values(leaf: Any) -> Any:
    return leaf.values if isinstance(leaf, SimulatedTensor) else leaf


def _result_is_simulated(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], simulated: bool) -> bool:
    if kwargs.get("device") is not None:
        return _on_device(kwargs)
    return isinstance(args[0], SimulatedTensor) if function is aten.copy_.default else simulated


def _check_devices(function: Any, args: tuple[Any, ...], leaves: list[Any]) -> None:
    """Raise RuntimeError, as CUDA does, for CPU tensors of one dimension or more beside simulated ones."""
    checked = [args[0], *args[2:3]] if function in INDEXING else leaves
    strangers = [
        tuple(leaf.shape)
        for leaf in checked
        if isinstance(leaf, torch.Tensor) and not isinstance(leaf, SimulatedTensor)
        and (leaf.dim() > 0 or (function in INDEXING and leaf is args[0]))
    ]  # fmt: skip
    if strangers:
        raise RuntimeError(
            "Expected all tensors to be on the same device, but found at least two devices, fake:0 and cpu! "
            f"({function}, shapes of CPU tensors: {strangers})"
        )


def _check_generator(function: Any, leaves: list[Any], simulated: bool) -> None:
    for leaf in leaves:
        if isinstance(leaf, CpuGenerator):
            kind = Generator.devices.get(leaf._cdata, torch.device("cpu")).type
            if (kind == NAME) != simulated:
                wanted = NAME if simulated else "cpu"
                raise RuntimeError(f"Expected a '{wanted}' device type for generator but found '{kind}' ({function})")


def _count_waits(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], simulated: bool) -> None:
    if not simulated:
        return
    operations.add(function.overloadpacket.__name__)
    masks = function in INDEXING and any(
        isinstance(index, SimulatedTensor) and index.dtype in (torch.bool, torch.uint8) for index in args[1] or ()
    )
    to_host = (
        function is aten._to_copy.default
        and isinstance(args[0], SimulatedTensor)
        and kwargs.get("device") is not None
        and not _on_device(kwargs)
    )
    if function is aten.copy_.default:
        to_host = not isinstance(args[0], SimulatedTensor)
    if function in WAITING or masks or to_host:
        waits[_place(), str(function)] += 1


def _place() -> str:
    """File and line of cseb that asked for the operation; "" where none did, as in the backward pass."""
    frame: Any = sys._getframe()
    while frame is not None and not frame.f_code.co_filename.startswith(PACKAGE):
        frame = frame.f_back
    return "" if frame is None else f"{frame.f_code.co_filename.removeprefix(PACKAGE)[1:]}:{frame.f_lineno}"


def _written(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    returns = function._schema.returns
    if not returns:
        return None
    written = [kwargs["out"]] if "out" in kwargs else [args[0]]
    return written[0]


_tolist = torch.Tensor.tolist
torch.Tensor.tolist = lambda tensor: _tolist(tensor.cpu()) if isinstance(tensor, SimulatedTensor) else _tolist(tensor)
