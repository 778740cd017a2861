"""Names, shapes and finiteness of the tensors of a safetensors file. Weights are read one tensor at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy.typing as npt

from cseb.data.bounded import open_regular, shown
from cseb.errors import BadData, first_line


class Stored(NamedTuple):
    """A tensor of a file: its kind of numbers, such as F32, and its shape."""

    kind: str
    shape: tuple[int, ...]


def stored(path: Path) -> dict[str, Stored]:
    """Return the tensors of a file by name; the library compares header and size. Raises: BadData."""
    with _open(path, "np") as file:
        slices = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118  not a mapping
        return {name: Stored(part.get_dtype(), tuple(part.get_shape())) for name, part in slices.items()}


def read(path: Path, name: str) -> npt.NDArray[Any]:
    """Return one tensor of a file, which has it; bfloat16 as float32. Raises: BadData."""
    is_half = stored(path)[name].kind == "BF16"  # which numpy does not have
    with _open(path, "pt" if is_half else "np") as file:
        tensor = file.get_tensor(name)
        return tensor.float().numpy() if is_half else tensor  # type: ignore[no-any-return]


def check_finite(path: Path) -> None:
    """Check that all numbers of a file are finite, again only if it has changed. Raises: BadData naming a tensor."""
    status = path.stat()
    _check_finite(path, (status.st_mtime_ns, status.st_size, status.st_ino))


@lru_cache(maxsize=64)
def _check_finite(path: Path, _stamp: tuple[int, int, int]) -> None:
    import importlib

    torch = importlib.import_module("torch")  # only where weights are read, which needs it anyway
    with _open(path, "pt") as file:
        for name in file.keys():  # noqa: SIM118  not a mapping
            tensor = file.get_tensor(name)
            if tensor.is_floating_point() and not torch.isfinite(tensor).all():
                raise BadData(
                    f"{shown(path)}: {name[:100]} holds numbers that are not finite, so no vector of this encoder "
                    "would mean anything; get its files again"
                )


@contextmanager
def _open(path: Path, framework: Literal["np", "pt"]) -> Iterator[Any]:
    """Open a safetensors file. Raises: BadData."""
    from safetensors import SafetensorError, safe_open

    open_regular(path).close()  # the library would wait for a FIFO
    try:
        with safe_open(path, framework) as file:
            yield file
    except (SafetensorError, OSError) as error:
        raise BadData(f"{shown(path)} is not a valid safetensors file: {first_line(error)}") from None
