"""The known data files: rows, hash, licence and origin of every task file and corpus, read from manifest.yaml."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

import yaml

from cseb.errors import UnknownName
from cseb.registry import TASK_GROUPS, TASKS

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
    sha256: str = ""
    header: int = 0
    rated: int | None = None
    beside: bool = False
    format: Literal["lines", "csv", "xml"] = "lines"
    element: str = ""  # of an XML file: what a row is
    label: str = ""
    label_at: int | None = None
    separator: str = "\t"
    labels: Mapping[str, int] = field(default_factory=dict)
    broken: Sequence[Broken] = ()

    @property
    def counts(self) -> Mapping[str, int]:
        """How many rows have which label; empty where there are no labels."""
        return {self.label: self.rows} if self.label else self.labels


@dataclass(frozen=True, slots=True)
class OnHub:
    """A file of a data set on the Hugging Face hub; a .tar holds the files themselves."""

    repository: str
    file: str

    @property
    def archive(self) -> str:
        """What the archive is called, "" if it is none."""
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

    @property
    def rows(self) -> int:
        """Rows of the data set: pairs, sentences, judgements, ..., each counted once."""
        return sum(data_file.rows for data_file in self.files if not data_file.beside)

    @property
    def rated(self) -> int | None:
        """How many of the rows hold a rating, where that is not all that matters."""
        ratings = [data_file.rated for data_file in self.files if data_file.rated is not None]
        return sum(ratings) if ratings else None


@cache
def data_sets() -> Mapping[str, DataSet]:
    """Return every data set by name, in the order of the list."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # ten times as fast
    listed = yaml.load(_LIST.read_bytes(), loader)  # noqa: S506  both loaders are safe
    return {name: _data_set(name, fields) for name, fields in listed["sets"].items()}


def on_hub(name: str) -> OnHub:
    """Where a data set lies on the hub. Raises: KeyError."""
    if (place := data_sets()[name].hub) is None:
        raise KeyError(name)
    return place


def files_of(name: str) -> Mapping[str, DataFile]:
    """Return the files of a data set by their names. Raises: KeyError."""
    return {data_file.file: data_file for data_file in data_sets()[name].files}


def named(names: Sequence[str]) -> dict[DataSet, list[DataFile]]:
    """Return the named data sets with the selected files of each; all of them without names.

    A name is that of a data set, of a task or group of tasks (`stsb-dev`, `sts`), of an archive (`senteval`) or of a
    file, with or without its folders. Raises: UnknownName.
    """
    found: dict[str, dict[str, DataFile]] = {}
    for name in names or data_sets():
        matches = {each.name: hits for each in _all() if (hits := _matching(name, each))}
        if not matches:
            raise UnknownName("data set or file", name, _names())
        for match, hits in matches.items():
            found.setdefault(match, {}).update((data_file.file, data_file) for data_file in hits)
    return {each: list(found[name].values()) for name, each in data_sets().items() if name in found}


def _matching(name: str, data: DataSet) -> list[DataFile]:
    tasks = TASK_GROUPS.get(name, (name,) if name in TASKS else ())
    archive = data.hub.archive if data.hub else ""
    if name in {data.name, archive} - {""} or any(map(data.serves, tasks)):
        return list(data.files)
    return [data_file for data_file in data.files if name in (data_file.file, Path(data_file.file).name)]


def _names() -> set[str]:
    """Return every name that `named` accepts, paths excepted."""
    names = {name for name in TASKS if any(data.serves(name) for data in _all())}
    names |= {group for group, tasks in TASK_GROUPS.items() if names & set(tasks)}
    for data in _all():
        names |= {data.name, *(Path(data_file.file).name for data_file in data.files)}
        names |= {data.hub.archive} - {""} if data.hub else set()
    return names


def _all() -> Sequence[DataSet]:
    return list(data_sets().values())


def _data_set(name: str, fields: dict[str, Any]) -> DataSet:
    files = [_data_file(entry) for entry in fields.pop("files")]
    hub = OnHub(**fields.pop("hub")) if "hub" in fields else None
    return DataSet(name=name, files=tuple(files), hub=hub, **fields)


def _data_file(fields: dict[str, Any]) -> DataFile:
    broken = tuple(Broken(**entry) for entry in fields.pop("broken", ()))
    return DataFile(broken=broken, **fields)
