"""Static pages of results folders: a board, a page for each method, encoder and record, and a comparison of two."""

from __future__ import annotations

import csv
import hashlib
import json
import re
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from cseb.data.files import written
from cseb.errors import BadResults
from cseb.exchange.board import Row, board
from cseb.progress import counted
from cseb.records.record import Record
from cseb.text import plain, quantity
from cseb.version import __version__

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
