"""Local paths of the manifest's files: below the user's folder, or in the caches. Only `fetch` downloads."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from platformdirs import user_cache_path

from cseb.data.files import unpacked, write_whole, written
from cseb.data.hub import hub_file
from cseb.data.manifest import DataFile, DataSet, named
from cseb.errors import BadData

ROOTS = (".", "senteval", "downstream", "data/downstream")  # below a data folder, where STS/, SICK/, ... may be


def existing(folder: Path) -> Path:
    """Return the folder if it exists. Raises: BadData."""
    if not folder.is_dir():
        raise BadData(f"no folder {folder}; give the folder that contains the data files (STS/, SICK/, ...)")
    return folder


def below(folder: Path, data: DataSet, file: DataFile) -> Path | None:
    """Return the file below a data folder or one of the usual folders in it; None if it is not there."""
    paths = [folder / root / file.file for root in ROOTS]
    paths += [folder / other / Path(file.file).name for other in data.also]
    return next((path for path in paths if path.is_file()), None)


def locate(data: DataSet, file: DataFile, data_dir: Path | None) -> Path | None:
    """Return the path of a file below `data_dir`, or without one in the caches; None if it is not there."""
    if data_dir is not None:
        return below(data_dir, data, file)
    if data.hub is None:
        return None
    from huggingface_hub import try_to_load_from_cache

    cached = try_to_load_from_cache(data.hub.repository, data.hub.file, repo_type="dataset")
    if not isinstance(cached, str):
        return None
    return below(unpacked_at(Path(cached)), data, file) if data.hub.archive else Path(cached)


def local_path(name: str, data_dir: Path | None) -> Path:
    """Return the path of a file or data set of the manifest on this machine. Raises: BadData, UnknownName."""
    selected = named([name])
    paths = (locate(data, file, data_dir) for data, files in selected.items() for file in files)
    if (path := next(filter(None, paths), None)) is not None:
        return path
    raise BadData(f"{name} is not {_where(data_dir)}; {how_to_get(next(iter(selected)))}")


def fetch(data: DataSet, files: Sequence[DataFile], to: Path | None) -> None:
    """Fetch files into the cache, where `locate` finds them, and copy them below `to` if it is given.

    Each file is written atomically. A file that is there is never overwritten. Raises: BadData, BadResults.
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
        with written(target):
            write_whole(target, [origin.read_bytes()])


def _where(data_dir: Path | None) -> str:
    return f"below {data_dir}" if data_dir else "in the caches, and no data folder is given"


def unpacked_at(archive: Path) -> Path:
    """Return the folder an archive of the hub is unpacked into; its cache calls a file by the hash of its content."""
    return user_cache_path("cseb") / f"senteval-{archive.resolve().name[:16]}"


def how_to_get(data: DataSet) -> str:
    """Return how to obtain missing files, for messages."""
    if data.made_by:
        return f"make it: {data.made_by}"
    if data.hub:
        return f"cseb data fetch {data.name}"
    return f"get it from {data.homepage} and put it below the data folder under the name shown"
