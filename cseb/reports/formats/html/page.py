"""A page that needs nothing but a browser: tables that sort, curves, and the records behind every number."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from cseb.analysis.comparable import tag
from cseb.records.record import Record
from cseb.reports.document import Curves, Document, Entry, Grid, Heading, marked
from cseb.reports.formats.html.curves import drawn
from cseb.text import plain, quantity

if TYPE_CHECKING:
    from jinja2 import Template

HERE = Path(__file__).parent
LARGE = 5_000  # records; a page with the seeds and the records behind every number of more is too long for a browser
FIELDS = (
    *("status", "method", "resolved", "encoder", "corpus", "sentences", "tasks", "chosen on", "checkpoints"),
    *("cseb", "libraries", "machine", "finished", "took"),
)


def write(document: Document) -> str:
    """One HTML file; nothing in it is fetched."""
    from markupsafe import Markup

    return _template().render(
        folder=document.title,
        count=f"{len(document.records):,}" if document.records else "",
        large=len(document.records) > LARGE,
        blocks=list(_blocks(document)),
        records=Markup(_provenance(_opened(document))),  # noqa: S704 - `<` is escaped in it
        style=Markup((HERE / "style.css").read_text("utf-8")),  # noqa: S704 - our own file
        script=Markup((HERE / "script.js").read_text("utf-8")),  # noqa: S704 - our own file
    )


@cache
def _template() -> Template:
    """Compiled once: that takes longer than most pages."""
    from jinja2 import Environment, FileSystemLoader  # late: no other format needs it

    loader = FileSystemLoader(HERE)
    environment = Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True)
    return environment.get_template("page.html")


def _blocks(document: Document) -> Iterator[dict[str, object]]:
    """What the template shows of each. Captions and notes stand below the first table they belong to."""
    from markupsafe import Markup

    from cseb.reports.formats.html.curves import draw

    shown_above: set[str] = set()
    cell = _bare if len(document.records) > LARGE else _cell
    for block in document.blocks:
        if isinstance(block, Heading):
            shown_above = set()
            yield {"heading": block.text}
        elif isinstance(block, Curves):
            figure = draw(block)
            yield {"curves": Markup(figure.markup), "caption": figure.caption}  # noqa: S704 - escaped where it is made
        else:
            yield {"grid": _grid(block, shown_above, cell)}
            shown_above |= {block.caption, *block.notes}


def _grid(
    grid: Grid, shown_above: Collection[str], cell: Callable[[Entry, str, Entry], dict[str, object]]
) -> dict[str, object]:
    titles = [column.title for column in grid.columns]
    return {
        "title": grid.title,
        "numeric": grid.numeric,
        "columns": grid.columns,
        "rows": [
            {
                "name": row[0],
                "cells": [cell(row[0], title, one) for title, one in zip(titles[1:], row[1:], strict=True)],
            }
            for row in grid.rows
        ],
        "caption": marked(grid.caption, "Bold") if grid.caption not in shown_above else "",
        "notes": [marked(note, "Bold") for note in grid.notes if note not in shown_above],
        "signature": grid.signature,
    }


def _cell(name: Entry, column: str, entry: Entry) -> dict[str, object]:
    first = f" ({entry.remarks[0]})" if entry.remarks else ""
    return {
        "number": entry.text,
        "spread": entry.spread,
        "remarks": "; ".join(entry.remarks) if entry.incomplete else "",
        "best": entry.bold,
        "sort": repr(entry.value) if entry.value is not None else entry.text if not entry.seeds else "",
        "behind": " ".join(f"{seed}:{key}" for seed, key in entry.keys.items()),
        "tip": "\n".join(
            [f"{name.text}, {column}{first}", *(f"seed {seed}: {points}" for seed, points in entry.seeds.items())]
        ),
        "open": bool(entry.seeds),
    }


def _bare(_: Entry, __: str, entry: Entry) -> dict[str, object]:
    """A cell of a large page: the number, its spread, and what is missing."""
    return {
        "number": entry.text,
        "spread": entry.spread,
        "remarks": "; ".join(entry.remarks) if entry.incomplete else "",
        "best": entry.bold,
        "sort": entry.text if entry.value is not None else "",
        "bare": bool(entry.seeds),
    }


def _opened(document: Document) -> Sequence[Record]:
    """Records that a click shows: all of them, on a large page those behind the curves alone."""
    if len(document.records) <= LARGE:
        return document.records
    curves = [points for one in document.blocks if isinstance(one, Curves) for points in drawn(one).values()]
    keys = {key for points in curves for _, cell in points for key in cell.keys.values()}
    return [one for one in document.records if one.key in keys]


def _provenance(records: Sequence[Record]) -> str:
    """Every record as places in one list of texts, since records share most of what they say."""
    texts: dict[str, int] = {}
    rows = {one.key: [texts.setdefault(text, len(texts)) for text in _said(one)] for one in records}
    found = {"fields": FIELDS, "texts": list(texts), "records": rows}
    return json.dumps(found, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


def _said(record: Record) -> tuple[str, ...]:
    """What `FIELDS` names."""
    protocol, origin, trace, failure = record.protocol, record.origin, record.trace, record.failure
    return (
        f"failed at step {failure.step}: {plain(failure.reason)}" if failure else record.status,
        plain(record.method),
        record.resolved,
        tag(record.encoder),
        tag(record.corpus),
        f"{record.subset.size:,}, sha256 {record.subset.sha256[:16]}",
        ", ".join(protocol.tasks),
        f"{protocol.dev} ({quantity(protocol.dev_pairs, 'labelled item')})" if protocol.dev else "nothing",
        f"best at step {trace.best_step} of {trace.steps}" if trace else "none",
        f"{origin.cseb} {origin.commit}".strip(),
        ", ".join(f"{name} {version}" for name, version in origin.versions.items()),
        f"{origin.machine} {origin.device}, {quantity(protocol.threads, 'thread')}, {origin.dtype}",
        origin.finished,
        f"{record.cost.seconds:.1f} s",
    )
