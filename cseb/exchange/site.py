"""Static pages of results folders: a board, a page for each method, encoder and record, and a comparison of two."""

from __future__ import annotations

import csv
import hashlib
import json
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np

from cseb.analysis.comparable import groups, is_untrained, tag
from cseb.analysis.stats import Cell, cell
from cseb.analysis.study import Study, gather
from cseb.data.files import written
from cseb.errors import BadResults
from cseb.progress import counted
from cseb.records.record import Record
from cseb.registry import TASK_GROUPS
from cseb.statistics.paired import STILL, rank_intervals
from cseb.text import plain, quantity
from cseb.version import __version__

UNTRAINED = "untrained"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """The scores of a method over seeds.

    encoder, corpus: name and hash; `corpus` is "" for an untrained encoder. tasks: name of the group that is averaged.
    size: training sentences; 0 for an untrained encoder. cell: mean, deviation, and score and key of each seed. rank:
    lowest and highest rank among the `of` methods of the same folder, encoder, corpus, tasks and size; None without a
    score or another method.
    """

    folder: str
    encoder: str
    corpus: str
    tasks: str
    protocol: str
    method: str
    size: int
    cell: Cell
    rank: tuple[int, int] | None
    of: int

    @property
    def varies(self) -> bool:
        """Return whether the score depends on the seed; that of an untrained encoder does not."""
        return self.cell.sd is not None and self.cell.sd > STILL

    @property
    def place(self) -> dict[str, str | int]:
        """Return the filters of a board that leave the methods this one is ranked with."""
        return {"folder": self.folder, "encoder": self.encoder, "tasks": self.tasks, "size": self.size}


def board(records: Iterable[Record], folder: str) -> tuple[list[Row], list[str]]:
    """Return the rows of a results folder, the best first in each block, and what is left out or mixed."""
    rows: list[Row] = []
    notes: list[str] = []
    for alike in _same_tasks(records):
        try:
            study = gather(alike, encoders=is_untrained(alike[0]), mixed=True)
        except BadResults as error:
            notes.append(f"{folder}: {error}")
            continue
        place = f"{folder}, {tag(alike[0].encoder)}"
        notes += [f"{place}: records differ in {plain(text)}" for text in study.mixed]
        if study.stale:
            notes.append(f"{place}: {quantity(len(study.stale), 'stale record')} left out")
        rows += _rows(study, folder)
    return rows, notes


def _same_tasks(records: Iterable[Record]) -> Iterator[list[Record]]:
    for group in groups(records):
        alike: dict[tuple[str, ...], list[Record]] = {}
        for record in group:
            alike.setdefault(record.protocol.tasks, []).append(record)
        yield from alike.values()


def _rows(study: Study, folder: str) -> Iterator[Row]:
    by_protocol: dict[str, list[str]] = {}
    for task, protocol in study.tasks.items():
        by_protocol.setdefault(protocol, []).append(task)
    for protocol, tasks in by_protocol.items():
        for size in study.sizes:
            runs = {name: study.runs[name, size] for name in study.methods if (name, size) in study.runs}
            cells = {
                name: cell(by_seed, sorted(by_seed), tasks, "last" if study.untrained else "best")
                for name, by_seed in runs.items()
            }
            ranks = _ranks(cells)
            for name in sorted(cells, key=lambda name: -_mean(cells[name])):
                record = next(iter(runs[name].values()))
                yield Row(
                    folder=folder,
                    encoder=tag(record.encoder),
                    corpus=study.corpus,
                    tasks=task_group(tasks),
                    protocol=protocol,
                    method=plain(f"{record.method} ({UNTRAINED})" if study.untrained else name),
                    size=size,
                    cell=cells[name],
                    rank=ranks.get(name),
                    of=len(ranks),
                )


def task_group(tasks: Iterable[str]) -> str:
    """Return the name of a group of tasks, or the names of the tasks without their versions."""
    names = [task.rpartition("@")[0] for task in tasks]
    known = [group for group, members in TASK_GROUPS.items() if set(members) == set(names)]
    return plain(known[0] if known else ", ".join(names))


def _mean(of: Cell) -> float:
    return float("-inf") if of.mean is None else of.mean


def _ranks(cells: Mapping[str, Cell]) -> dict[str, tuple[int, int]]:
    scored = [name for name, of in cells.items() if of.mean is not None]
    if len(scored) < 2:
        return {}
    seeds = sorted({seed for name in scored for seed in cells[name].values})
    scores = np.array([[cells[name].values.get(seed, np.nan) for seed in seeds] for name in scored])
    return {name: (int(low), int(high)) for name, (low, high) in zip(scored, rank_intervals(scores), strict=True)}


TEMPLATES = Path(__file__).parent / "site_templates"
ASSETS = ("style.css", "board.js", "compare.js")
DEGREES = 60  # of freedom for which the page that compares has a quantile of Student's t
Details = Callable[[Record], Iterable[tuple[str, Sequence[tuple[str, str]]]]]


def write_site(folders: Mapping[str, Sequence[Record]], to: Path, details: Mapping[str, Details]) -> int:
    """Write the pages of results folders into a folder, and return their number; nothing is fetched from a network.

    folders: the records of each results folder, by its name. to: a new or empty folder. details: what a record's page
    shows, as headings with names and values, by the name of its folder. Raises: BadResults.
    """
    records = {record.key: (name, record) for name, each in folders.items() for record in each}
    if not records:
        raise BadResults("there is no record for a site; name a folder of records, or of such folders")
    rows: list[Row] = []
    notes: list[str] = []
    for name, each in folders.items():
        folder_rows, folder_notes = board(each, name)
        rows, notes = rows + folder_rows, notes + folder_notes
    with written(to):
        if to.exists() and any(to.iterdir()):
            raise BadResults(f"{to} is not empty; name a new folder")
        return _Site(to, rows).write(notes, records, details)


class _Site:
    """The pages of one site."""

    def __init__(self, to: Path, rows: Sequence[Row]) -> None:
        from jinja2 import Environment, FileSystemLoader

        self.to, self.rows, self.pages = to, rows, 0
        self.environment = Environment(
            loader=FileSystemLoader(TEMPLATES), autoescape=True, trim_blocks=True, lstrip_blocks=True
        )
        self.environment.filters["slug"] = slug
        self.environment.globals.update(version=__version__)

    def write(
        self, notes: Sequence[str], records: Mapping[str, tuple[str, Record]], details: Mapping[str, Details]
    ) -> int:
        """Write all pages; returns their number."""
        for part in ("", "method", "encoder", "record"):
            (self.to / part).mkdir(parents=True, exist_ok=True)
        for asset in ASSETS:
            shutil.copy(TEMPLATES / asset, self.to)
        largest = max(self.rows, key=lambda row: (row.of, row.size), default=None)
        start = "" if largest is None else urlencode(largest.place)
        values = {"rows": self.rows, "notes": notes, "count": len(records), "start": start}
        self._page("index.html", "board.html", title="Results", **values)
        for kind in ("method", "encoder"):
            for name in dict.fromkeys(getattr(row, kind) for row in self.rows):
                rows = [row for row in self.rows if getattr(row, kind) == name]
                self._page(f"{kind}/{slug(name)}.html", f"{kind}.html", title=name, rows=rows)
        self._page("compare.html", "compare.html", title="Compare two methods", data=self._compared())
        row_of = {key: row for row in self.rows for key in row.cell.keys.values()}
        for key, (name, record) in counted(records.items(), "writing pages", len(records)):
            title = f"{plain(record.method)}, {quantity(record.subset.size, 'sentence')}, seed {record.seed}"
            values = {"record": record, "folder": name, "sections": details[name](record), "row": row_of.get(key)}
            self._page(f"record/{key}.html", "record.html", title=title, **values)
        self._table()
        return self.pages

    def _page(self, path: str, template: str, **values: Any) -> None:
        text = self.environment.get_template(template).render(root="../" * path.count("/"), **values)
        (self.to / path).write_text(text, encoding="utf-8")
        self.pages += 1

    def _compared(self) -> str:
        """Return the scores by seed and the quantiles of Student's t, as JSON that may be part of a page."""
        from scipy.special import stdtrit

        rows = [
            [row.folder, row.encoder, row.corpus, row.tasks, row.size, row.method, row.cell.values] for row in self.rows
        ]
        quantiles = [round(float(stdtrit(df, 0.975)), 4) for df in range(1, DEGREES + 1)]
        return json.dumps({"rows": rows, "quantiles": quantiles}).replace("<", "\\u003c")

    def _table(self) -> None:
        """Write the board as CSV."""
        with (self.to / "board.csv").open("w", encoding="utf-8", newline="") as file:
            lines = csv.writer(file)
            lines.writerow(
                [
                    *("folder", "encoder", "corpus", "tasks", "protocol", "method", "size", "mean", "sd", "seeds"),
                    *("rank_low", "rank_high", "methods", "values", "keys"),
                ]
            )
            for row in self.rows:
                values = " ".join(f"{seed}:{value!r}" for seed, value in row.cell.values.items())
                keys = " ".join(f"{seed}:{key}" for seed, key in row.cell.keys.items())
                lines.writerow(
                    [
                        *(row.folder, row.encoder, row.corpus, row.tasks, row.protocol, row.method, row.size),
                        *(row.cell.mean, row.cell.sd, row.cell.n, *(row.rank or ("", "")), row.of, values, keys),
                    ]
                )


def slug(name: str) -> str:
    """Return a file name for a method or an encoder, with a hash where letters had to be replaced."""
    short = re.sub(r"[^a-z0-9_-]+", "-", plain(name).lower()).strip("-")[:60]
    return short if short == name else f"{short}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
