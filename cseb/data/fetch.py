"""Download data files from the hub. Nothing else downloads unless a name asks for it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cseb.data.files import unpacked, write_whole
from cseb.data.hub import hub_file
from cseb.data.manifest import DataFile, DataSet
from cseb.data.places import below, how_to_get, unpacked_at
from cseb.errors import BadData


def fetch(data: DataSet, files: Sequence[DataFile], to: Path | None) -> None:
    """Fetch files into the cache, where `locate` finds them, and copy them below `to` if it is given.

    Each file is written atomically. A file that is there is never overwritten. Raises: BadData.
    """
    if data.hub is None:
        raise BadData(f"{data.name} is not on the hub: {how_to_get(data)}, such as {files[0].file}")
    try:
        download = hub_file(data.hub.repository, data.hub.file)
    except BadData as error:
        raise BadData(f"{error}, or give its folder with `data_dir`") from error
    folder = unpacked(download, unpacked_at(download)) if data.hub.archive else None
    origins = {file: below(folder, data, file) if folder else download for file in files}
    if absent := [file.file for file, origin in origins.items() if origin is None]:
        raise BadData(f"{data.hub.file} lacks {', '.join(absent[:3])}; nothing was copied")
    for file, origin in origins.items():
        if to is None or origin is None or (target := to / file.file).exists():
            continue
        try:
            write_whole(target, [origin.read_bytes()])
        except OSError as error:
            raise BadData(f"{target} cannot be written: {error.strerror or error}") from error
