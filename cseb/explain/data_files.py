"""Describe the data sets of the manifest: what there is, what of it is here, and whether it is right."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from cseb.data.manifest import DataFile, DataSet
from cseb.data.places import how_to_get, locate
from cseb.data.verify import FileCheck
from cseb.reports.text_table import aligned
from cseb.text import quantity

Chosen = Mapping[DataSet, Sequence[DataFile]]


def overview(chosen: Chosen, data_dir: Path | None) -> str:
    """One line for each data set."""
    rows = [("name", "rows", "here", "tasks", "licence")]
    for data, files in chosen.items():
        held = sum(locate(data, one, data_dir) is not None for one in files)
        here = "yes" if held == len(files) else f"{held} of {quantity(len(files), 'file')}" if held else "no"
        rows.append((data.name, _rows(data), here, ",".join(data.tasks) or "-", data.licence))
    return "\n".join(aligned(rows))


def in_full(chosen: Chosen, data_dir: Path | None) -> str:
    """Each data set with its origin and one line for each of its files."""
    lines: list[str] = []
    for data, files in chosen.items():
        lines += [f"{data.name}: {data.title}", f"licence: {data.licence}", f"homepage: {data.homepage}"]
        lines += [f"hub: {data.hub.repository}, {data.hub.file}"] if data.hub else []
        lines += [data.note] if data.note else []
        rows = [("file", "rows", "here", "labels", "sha256")]
        for one in files:
            here = "yes" if locate(data, one, data_dir) else "no"
            counts = ", ".join(f"{label} {count}" for label, count in one.counts.items())
            rows.append((one.file, str(one.rows), here, counts or "-", one.sha256 or "not known"))
        lines += aligned(rows)
    return "\n".join(lines)


def places(chosen: Chosen, data_dir: Path | None) -> Iterator[str]:
    """Each file with its path, or how to get it."""
    for data, files in chosen.items():
        for one in files:
            path = locate(data, one, data_dir)
            yield f"{one.file}\t{path if path else f'not here; {how_to_get(data)}'}"


def verdicts(found: Sequence[FileCheck], absent: Sequence[str] = ()) -> Iterator[str]:
    """One line for each file, and how many are how. absent: data sets of which no file is here."""
    for one in found:
        yield f"{one.state:<8}{one.path or one.file.file}: {one.message}"
    counts = {state: sum(one.state == state for one in found) for state in ("ok", "wrong", "missing")}
    message = ", ".join(f"{number} {state}" for state, number in counts.items() if number)
    yield f"{message}{'; not here at all: ' + ', '.join(absent) if absent else ''}"


def _rows(data: DataSet) -> str:
    partly = data.rated is not None and data.rated != data.rows
    return f"{data.rated} of {data.rows} rated" if partly else str(data.rows)
