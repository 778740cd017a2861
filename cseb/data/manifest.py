"""The known data files: rows, hash, licence and origin of each, where it is on this machine, and its check."""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

import yaml
from platformdirs import user_cache_path

from cseb.data.files import unpacked, write_whole, written
from cseb.data.hub import hub_file
from cseb.data.readers import LONGEST_FIELD
from cseb.errors import BadData, UnknownName
from cseb.registry import TASK_GROUPS, TASKS
from cseb.text import quantity

_LIST = Path(__file__).with_name("manifest.yaml")


@dataclass(frozen=True, slots=True)
class Broken:
    """A known defective copy in circulation, recognised by its number of rows or by a character it contains."""

    means: str
    rows: int = -1
    holds: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class DataFile:
    """One file, under its name below a data folder; manifest.yaml explains the fields."""

    file: str
    rows: int
    sha256: str
    header: int = 0
    rated: int | None = None
    beside: bool = False
    format: Literal["lines", "csv"] = "lines"
    label: str = ""
    labels: Mapping[str, int] = field(default_factory=dict)
    broken: Sequence[Broken] = ()

    @property
    def counts(self) -> Mapping[str, int]:
        """Return how many rows have which label; empty where there are no labels."""
        return {self.label: self.rows} if self.label else self.labels


@dataclass(frozen=True, slots=True)
class OnHub:
    """A file of a data set on the Hugging Face hub; a .tar contains the files themselves."""

    repository: str
    file: str

    @property
    def archive(self) -> str:
        """Return the name of the archive, "" if it is none."""
        return self.file.removesuffix(".tar") if self.file.endswith(".tar") else ""


@dataclass(frozen=True, slots=True, eq=False)
class DataSet:
    """Files that belong together. tasks: those scored on them, and their variants (`mr-fast`); none for a corpus."""

    name: str
    title: str
    licence: str
    homepage: str
    files: Sequence[DataFile]
    tasks: Sequence[str] = ()
    hub: OnHub | None = None
    also: Sequence[str] = ()
    made_by: str = ""
    note: str = ""

    def serves(self, task: str) -> bool:
        """Return whether this task reads these files."""
        return any(task == base or task.startswith(f"{base}-") for base in self.tasks)

    def files_called(self, name: str) -> list[DataFile]:
        """Return the files of this name, with or without its folders."""
        return [file for file in self.files if name in (file.file, Path(file.file).name)]

    @property
    def rows(self) -> int:
        """Return the number of rows: pairs, sentences, judgements, ..., each counted once."""
        return sum(file.rows for file in self.files if not file.beside)

    @property
    def rated(self) -> int | None:
        """Return the number of rows with a rating, None where that is not all that matters."""
        ratings = [file.rated for file in self.files if file.rated is not None]
        return sum(ratings) if ratings else None


@cache
def data_sets() -> Mapping[str, DataSet]:
    """Return every data set by name, in the order of the list."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # ten times as fast
    listed = yaml.load(_LIST.read_bytes(), loader)  # noqa: S506  both loaders are safe
    return {name: _data_set(name, **fields) for name, fields in listed["sets"].items()}


def _data_set(name: str, files: list[dict[str, Any]], hub: dict[str, str] | None = None, **fields: Any) -> DataSet:
    known = [DataFile(**entry | {"broken": [Broken(**copy) for copy in entry.get("broken", ())]}) for entry in files]
    return DataSet(name=name, files=known, hub=OnHub(**hub) if hub else None, **fields)


def files_of(name: str) -> Mapping[str, DataFile]:
    """Return the files of a data set by their names. Raises: KeyError."""
    return {file.file: file for file in data_sets()[name].files}


def named(names: Sequence[str]) -> dict[DataSet, list[DataFile]]:
    """Return the named data sets with the selected files of each; all of them without names.

    A name is that of a data set, of a task or group of tasks (`stsb-dev`, `sts`), of an archive (`senteval`) or of a
    file, with or without its folders. Raises: UnknownName.
    """
    selected: dict[DataSet, dict[DataFile, None]] = {data: {} for data in data_sets().values()}
    for name in names or data_sets():
        matches = {data: _matching(name, data) for data in selected}
        if not any(matches.values()):
            hint = "`cseb data list NAME` lists the files of one"
            raise UnknownName("data set or file", name, _names(), [hint], data_sets())
        for data, files in matches.items():
            selected[data] |= dict.fromkeys(files)
    return {data: list(files) for data, files in selected.items() if files}


def _matching(name: str, data: DataSet) -> Sequence[DataFile]:
    tasks = TASK_GROUPS.get(name, (name,) if name in TASKS else ())
    archive = data.hub.archive if data.hub else ""
    if name in {data.name, archive} - {""} or any(map(data.serves, tasks)):
        return data.files
    return data.files_called(name)


def _names() -> set[str]:
    """Return every name that `named` accepts, paths excepted."""
    every = data_sets().values()
    names = {name for name in TASKS if any(data.serves(name) for data in every)}
    names |= {group for group, tasks in TASK_GROUPS.items() if names & set(tasks)}
    for data in every:
        names |= {data.name, data.hub.archive if data.hub else "", *(Path(file.file).name for file in data.files)}
    return names - {""}


@dataclass(frozen=True, slots=True)
class FileCheck:
    """Result of checking one file. path: None for a file that is not there."""

    file: DataFile
    path: Path | None
    state: Literal["ok", "missing", "wrong"]
    message: str


def check(file: DataFile, path: Path | None) -> FileCheck:
    """Compare the file at `path`, if any, with the manifest."""
    expected = quantity(file.rows, "row")
    if path is None:
        return FileCheck(file, None, "missing", f"{expected} expected")
    try:
        content = path.read_bytes()
    except OSError as error:
        return FileCheck(file, path, "wrong", f"cannot be read: {error.strerror}")
    rows, sha256 = count(file, content), hashlib.sha256(content).hexdigest()
    broken = [
        copy.means for copy in file.broken if copy.rows == rows or any(sign.encode() in content for sign in copy.holds)
    ]
    ok = sha256 == file.sha256
    if rows == -1:
        message = f"not a valid {file.format} file; {expected} expected"
    elif rows != file.rows:
        message = ": ".join([f"{quantity(rows, 'row')}, {file.rows:,} expected", *broken[:1]])
    elif ok:
        message = expected
    else:
        known = broken[0] if broken else "another text, label, line end or byte order mark"
        message = f"{expected} as expected, but {known}; sha256 {sha256[:12]}, expected {file.sha256[:12]}"
    return FileCheck(file, path, "ok" if ok else "wrong", message)


def count(file: DataFile, content: bytes) -> int:
    """Return the number of rows of a file in its format, blank ones included; -1 if it is not of that format."""
    if file.format == "csv":
        csv.field_size_limit(LONGEST_FIELD)
        text = io.StringIO(content.decode("utf-8-sig", "replace"), newline="")
        try:
            return max(0, sum(1 for row in csv.reader(text, strict=True) if row) - file.header)
        except csv.Error:
            return -1
    return max(0, len(content.removesuffix(b"\n").split(b"\n")) - file.header) if content else 0


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
    where = f"below {data_dir}" if data_dir else "in the caches, and no data folder is given"
    raise BadData(f"{name} is not {where}; {how_to_get(next(iter(selected)))}")


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
