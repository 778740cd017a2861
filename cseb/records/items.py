"""The file of scores per example: read without pickles and within bounds; values that cannot be scores are refused."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cseb.data.bounded import read_bytes
from cseb.errors import BadData, BadResults
from cseb.text import plain

LARGEST = 2**28  # bytes, compressed or not; a record of all tasks has about one million
HIGHEST = 1e9  # no cosine, rank, rating or class is larger
KINDS = "biuf"  # of numpy: boolean, integers and floating-point numbers


def read_items(path: Path) -> dict[str, Items]:
    """Return arrays (N,) or (N, k) by "<task>/<select>"; NaN for a collapsed encoder. Raises: BadResults."""
    try:
        content = read_bytes(path, LARGEST)
    except BadData as error:
        raise BadResults(str(error)) from None
    return items_of(path, content)


def items_of(path: Path, content: bytes) -> dict[str, Items]:
    """Return the arrays in the content of such a file; messages name `path`. Raises: BadResults."""
    try:
        return dict(_members(path, content))
    except BadResults:
        raise
    except Exception as error:  # numpy and zipfile raise a dozen kinds for damaged bytes
        raise BadResults(f"{plain(str(path))} cannot be read: {plain(str(error)) or type(error).__name__}") from error


def items_bytes(items: Mapping[str, Items]) -> bytes:
    """Return the content of the file of these items; equal items give equal bytes."""
    arrays: dict[str, Any] = {name: np.asarray(values, dtype=np.float32) for name, values in items.items()}
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def _members(path: Path, content: bytes) -> Iterator[tuple[str, Items]]:
    with zipfile.ZipFile(io.BytesIO(content)) as packed:
        if (total := sum(member.file_size for member in packed.infolist())) > LARGEST:
            raise BadResults(f"{plain(str(path))} cannot be read: it unpacks to {total} bytes, at most {LARGEST}")
    with np.load(io.BytesIO(content), allow_pickle=False) as archive:
        for name in archive.files:
            try:
                yield name, _checked(archive[name])
            except ValueError as error:
                where = f"{plain(str(path))}, {plain(name)}, cannot be read"
                raise BadResults(f"{where}: {plain(str(error))}; remove the file, or run the job again") from None


def _checked(values: npt.NDArray[np.generic]) -> Items:
    """Return values in single precision. Raises: ValueError if they cannot be scores of examples."""
    if values.dtype.kind not in KINDS:
        raise ValueError(f"numbers are needed, not {values.dtype}")
    if values.ndim not in (1, 2) or not values.size:
        raise ValueError(f"an array of shape {values.shape}; one number or row for each example is needed")
    scores = values.astype(np.float64)
    if (excessive := scores[np.abs(scores) > HIGHEST]).size:  # infinity too
        raise ValueError(f"{excessive.flat[0]:g} cannot be the score of an example")
    return scores.astype(np.float32)


Items = npt.NDArray[np.float32]
