"""Download data files from the hub or copy them from a folder. Nothing else downloads unless a name asks for it."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from cseb.data.bounded import open_regular
from cseb.data.files import unpacked, write_whole
from cseb.data.hub import hub_file
from cseb.data.manifest import DataFile, DataSet
from cseb.data.places import below, how_to_get, unpacked_at
from cseb.errors import BadData

_PIECE = 2**20  # bytes


def fetch(data: DataSet, files: Sequence[DataFile], to: Path | None, mirror: Path | None) -> None:
    """Fetch files into the cache, where `locate` finds them, or below `to`; each is written atomically.

    mirror: a folder that holds the files, or the hub's archive of them, and stands in for the hub; it needs `to`.

    Raises: BadData, also where another file is in the way: what a user has is never overwritten.
    """
    with tempfile.TemporaryDirectory() as scratch:
        found = _on_hub(data, files) if mirror is None else _in_folder(data, files, mirror, Path(scratch))
        if to is not None:
            for data_file, origin in found:
                _copy(origin, to / data_file.file)


def _on_hub(data: DataSet, files: Sequence[DataFile]) -> list[tuple[DataFile, Path]]:
    if data.hub is None:
        raise BadData(f"{data.name} is not on the hub: {how_to_get(data)}, such as {files[0].file}")
    try:
        download = hub_file(data.hub.repository, data.hub.file)
    except BadData as error:
        raise BadData(f"{error}, or give its folder with `source`") from error
    if not data.hub.archive:
        return [(data_file, download) for data_file in files]
    return _all_below(unpacked(download, unpacked_at(download)), data, files, data.hub.file)


def _in_folder(data: DataSet, files: Sequence[DataFile], mirror: Path, scratch: Path) -> list[tuple[DataFile, Path]]:
    archive = mirror / data.hub.file if data.hub and data.hub.archive else None
    if archive is not None and archive.is_file() and not all(below(mirror, data, data_file) for data_file in files):
        return _all_below(unpacked(archive, scratch / "unpacked"), data, files, str(archive))
    return _all_below(mirror, data, files, str(mirror))


def _all_below(folder: Path, data: DataSet, files: Sequence[DataFile], name: str) -> list[tuple[DataFile, Path]]:
    found = [(data_file, below(folder, data, data_file) or folder / Path(data_file.file).name) for data_file in files]
    if absent := [data_file.file for data_file, path in found if not path.is_file()]:
        raise BadData(f"{name} lacks {', '.join(absent[:3])}{', ...' if absent[3:] else ''}; nothing was copied")
    return found


def _copy(origin: Path, target: Path) -> None:
    try:
        if target.exists():
            if _sha256(origin) != _sha256(target):
                raise BadData(
                    f"{target} exists and differs from the fetched file; move it away, or fetch `to` another folder"
                )
            return
        write_whole(target, _pieces(origin))
    except OSError as error:
        raise BadData(f"{target} cannot be written: {error.strerror or error}") from error


def _pieces(path: Path) -> Iterator[bytes]:
    with open_regular(path) as file:
        while piece := file.read(_PIECE):
            yield piece


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    for piece in _pieces(path):
        digest.update(piece)
    return digest.hexdigest()
