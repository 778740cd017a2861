"""Scores per item as a file holds them: read without pickles, within bounds, and refused unless they can be scores."""

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

LARGEST = 2**28  # bytes, packed or not; a record of all tasks has about one million
HIGHEST = 1e9  # no cosine, rank, rating or class is larger; squares of it still fit
KINDS = "biuf"  # of numpy: truth values, whole numbers and real ones


def read_items(path: Path) -> dict[str, Items]:
    """Arrays (N,) or (N, k) of each "<task>/<select>"; NaN is what a collapsed encoder leaves. Raises: BadResults."""
    try:
        content = read_bytes(path, LARGEST)
    except BadData as error:
        raise BadResults(str(error)) from None
    return items_of(path, content)


def items_of(path: Path, content: bytes) -> dict[str, Items]:
    """The same of the bytes of such a file; path: named in messages. Raises: BadResults."""
    try:
        return dict(_members(path, content))
    except BadResults:
        raise
    except Exception as error:  # numpy and zipfile answer damaged bytes with a dozen different exceptions
        raise BadResults(f"{plain(str(path))} cannot be read: {plain(str(error)) or type(error).__name__}") from error


def items_bytes(items: Mapping[str, Items]) -> bytes:
    """What a file of these items holds; the same ones give the same bytes."""
    arrays: dict[str, Any] = {name: np.asarray(values, dtype=np.float32) for name, values in items.items()}
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def _members(path: Path, content: bytes) -> Iterator[tuple[str, Items]]:
    with zipfile.ZipFile(io.BytesIO(content)) as packed:
        if (total := sum(one.file_size for one in packed.infolist())) > LARGEST:
            raise BadResults(f"{plain(str(path))} cannot be read: it unpacks to {total} bytes, at most {LARGEST}")
    with np.load(io.BytesIO(content), allow_pickle=False) as archive:
        for name in archive.files:
            try:
                yield name, _checked(archive[name])
            except ValueError as error:
                where = f"{plain(str(path))}, {plain(name)}, cannot be read"
                raise BadResults(f"{where}: {plain(str(error))}; remove the file, or run the job again") from None


def _checked(values: npt.NDArray[np.generic]) -> Items:
    """As stored, in single precision. Raises: ValueError for what cannot be scores of items."""
    if values.dtype.kind not in KINDS:
        raise ValueError(f"numbers belong there, not {values.dtype}")
    if values.ndim not in (1, 2) or not values.size:
        raise ValueError(f"an array of shape {values.shape} holds no items; one number or row for each belongs there")
    wide = values.astype(np.float64)
    if (np.abs(wide) > HIGHEST).any():  # infinity too
        worst = wide[np.abs(wide) > HIGHEST].flat[0]
        raise ValueError(f"{worst:g} cannot be the score of an item")
    return wide.astype(np.float32)


Items = npt.NDArray[np.float32]
