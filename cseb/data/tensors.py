"""Header and finiteness checks of safetensors files, without torch.

Layout: eight bytes with the length of the header, the header as JSON, and the numbers end to end, little-endian.
Source: huggingface.co/docs/safetensors.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from cseb.data.bounded import open_regular, parse_json, shown
from cseb.errors import BadData

LONGEST = 1 << 25  # bytes of a header: 32 MB name some 300,000 tensors
SIZES = {
    **dict.fromkeys(("F64", "I64", "U64"), 8),
    **dict.fromkeys(("F32", "I32", "U32"), 4),
    **dict.fromkeys(("F16", "BF16", "I16", "U16"), 2),
    **dict.fromkeys(("I8", "U8", "BOOL"), 1),
}
# Unsigned integers of the same length, and the bits that are all set in infinity and in what is not a number.
EXPONENTS = {
    "F64": ("<u8", 0x7FF0 << 48),
    "F32": ("<u4", 0x7F80 << 16),
    "F16": ("<u2", 0x7C00),
    "BF16": ("<u2", 0x7F80),
}
# How numpy calls them; it has no bfloat16, which is the upper half of a float32.
NUMBERS = {
    **{"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2"},
    **{"I64": "<i8", "U64": "<u8", "I32": "<i4", "U32": "<u4", "I16": "<i2", "U16": "<u2", "I8": "i1", "U8": "u1"},
    "BOOL": "?",
}
PIECE = 1 << 22  # bytes looked at together


@dataclass(frozen=True, slots=True)
class Stored:
    """One tensor of a file: its kind of numbers, its shape, and where its bytes begin and end."""

    kind: str
    shape: tuple[int, ...]
    start: int
    end: int


def stored(path: Path) -> dict[str, Stored]:
    """Name to tensor of a safetensors file whose header agrees with its size. Raises: BadData."""
    with _open(path) as file:
        return _header(path, file)


def read(path: Path, name: str) -> npt.NDArray[Any]:
    """One tensor of a file, which has it; bfloat16 as float32. Raises: BadData."""
    with _open(path) as file:
        tensor = _header(path, file)[name]
        file.seek(tensor.start)
        found = np.frombuffer(file.read(tensor.end - tensor.start), dtype=NUMBERS[tensor.kind]).reshape(tensor.shape)
    return (found.astype("<u4") << 16).view("<f4") if tensor.kind == "BF16" else found


def check_finite(path: Path) -> None:
    """Raises: BadData naming the first tensor with infinite or NaN values."""
    found = path.stat()
    _check_finite(path, (found.st_mtime_ns, found.st_size, found.st_ino))


@lru_cache(maxsize=64)
def _check_finite(path: Path, _stamp: tuple[int, int, int]) -> None:
    with _open(path) as file:
        for name, tensor in _header(path, file).items():
            if tensor.kind in EXPONENTS and not _finite(file, tensor):
                raise BadData(
                    f"{shown(path)}: {name[:100]} holds numbers that are not finite, so no vector of this encoder "
                    "would mean anything; get its files again"
                )


def _finite(file: BinaryIO, tensor: Stored) -> bool:
    kind, exponent = EXPONENTS[tensor.kind]
    file.seek(tensor.start)
    for at in range(tensor.start, tensor.end, PIECE):
        bits = np.frombuffer(file.read(min(PIECE, tensor.end - at)), dtype=kind)
        if ((bits & np.asarray(exponent, dtype=kind)) == exponent).any():
            return False
    return True


def _open(path: Path) -> BinaryIO:
    return open_regular(path)


def _header(path: Path, file: BinaryIO) -> dict[str, Stored]:
    """Raises: BadData unless every tensor lies inside the file, is as long as its shape says, and overlaps no other."""
    size, name = os.fstat(file.fileno()).st_size, shown(path)
    length = int.from_bytes(file.read(8), "little")
    if size < 8 or length > min(LONGEST, size - 8):
        raise BadData(
            f"{name} is not a valid safetensors file: its header is longer than the file, or than {LONGEST:,} bytes"
        )
    held = parse_json(file.read(length), f"{name}, its header")
    if not isinstance(held, dict):
        raise BadData(f"{name} is not a valid safetensors file: its header is no JSON object")
    found = {key: _tensor(key, value, name) for key, value in held.items() if key != "__metadata__"}
    at = 0
    for tensor in sorted(found.values(), key=lambda one: (one.start, one.end)):
        if tensor.start != at:
            raise BadData(f"{name} is not a valid safetensors file: its tensors overlap or leave gaps")
        at = tensor.end
    if at != size - 8 - length:
        raise BadData(f"{name} is cut short or too long: its header says {at:,} bytes of numbers")
    shift = 8 + length
    return {key: Stored(one.kind, one.shape, one.start + shift, one.end + shift) for key, one in found.items()}


def _tensor(key: str, value: object, name: str) -> Stored:
    try:
        if not isinstance(value, dict):
            raise TypeError
        kind, shape, (start, end) = str(value["dtype"]), tuple(value["shape"]), value["data_offsets"]
        if not all(type(one) is int and one >= 0 for one in (*shape, start, end)):
            raise ValueError
        if end - start != prod(shape) * SIZES[kind]:
            raise ValueError
    except (KeyError, TypeError, ValueError):
        raise BadData(
            f"{name} is no safetensors file of integers or floats: its header entry {key[:100]!r} is invalid"
        ) from None
    return Stored(kind, shape, start, end)
