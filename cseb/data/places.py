"""Local paths of the manifest's files: below the user's folder, or in the caches. Nothing is downloaded."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from platformdirs import user_cache_path

from cseb.data.manifest import DataFile, DataSet, OnHub, data_sets, named
from cseb.errors import BadData

ROOTS = (".", "senteval", "downstream", "data/downstream")  # where STS/, SICK/, ... may lie below --data-dir


def existing(folder: Path) -> Path:
    """Return the folder if it exists. Raises: BadData."""
    if not folder.is_dir():
        raise BadData(f"no folder {folder}; give the folder that contains the data files (STS/, SICK/, ...)")
    return folder


def below(folder: Path, data: DataSet, data_file: DataFile) -> Path | None:
    """The file below a data folder or one of the folders in it where it is looked for; None if it is not there."""
    paths = [folder / root / data_file.file for root in ROOTS]
    paths += [folder / other / Path(data_file.file).name for other in data.also]
    return next((path for path in paths if path.is_file()), None)


def locate(data: DataSet, data_file: DataFile, data_dir: Path | None) -> Path | None:
    """Where a file is read from: below `data_dir`, or without one in the caches; None if it is not there."""
    if data_dir is not None:
        return below(data_dir, data, data_file)
    archive = cached(data.hub) if data.hub else None
    if archive is None or data.hub is None or not data.hub.archive:
        return archive
    return below(unpacked_at(archive), data, data_file)


def here(name: str, data_dir: Path | None) -> Path:
    """Return the file of this name in the manifest, as far as it is on this machine. Raises: BadData, UnknownName."""
    found = named([name])
    for data, files in found.items():
        for data_file in files:
            if (path := locate(data, data_file, data_dir)) is not None:
                return path
    data = next(iter(found))
    where = f"below {data_dir}" if data_dir is not None else "in the caches, and no data folder is given"
    raise BadData(f"{name} is not {where}; {how_to_get(data)}")


def absent(names: Iterable[str], data_dir: str) -> str:
    """Which data sets of these tasks and files have no file here, and how to get one of them; "" if all have some.

    Names that the manifest does not have are passed over: a generated task, a file of the user's own.
    """
    folder = Path(data_dir) if data_dir else None
    missing: dict[str, DataSet] = {}
    for name in names:
        for data in data_sets().values():
            wanted = data.serves(name) or any(
                name in (data_file.file, Path(data_file.file).name) for data_file in data.files
            )
            if wanted and all(locate(data, data_file, folder) is None for data_file in data.files):
                missing[data.name] = data
    if not missing:
        return ""
    where = f"below {folder}" if folder else "in the caches, and no data folder is given"
    return f"{', '.join(missing)} {where}; {how_to_get(next(iter(missing.values())))}"


def cached(place: OnHub) -> Path | None:
    """Return the hub's file in its cache on this machine, if it is there."""
    from huggingface_hub import try_to_load_from_cache

    found = try_to_load_from_cache(place.repository, place.file, repo_type="dataset")
    return Path(found) if isinstance(found, str) else None


def unpacked_at(archive: Path) -> Path:
    """Return the folder an archive of the hub is unpacked into; its cache calls a file by the hash of its content."""
    return user_cache_path("cseb") / f"senteval-{archive.resolve().name[:16]}"


def how_to_get(data: DataSet) -> str:
    """How to obtain missing files, for messages."""
    if data.made_by:
        return f"make it: {data.made_by}"
    if data.hub:
        return f"cseb data fetch {data.name}"
    return f"get it from {data.homepage} and put it below the data folder under the name shown"
