"""A page that needs nothing but a browser: tables that sort, and the records behind every number."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from cseb.analysis.comparable import tag
from cseb.records.record import Record
from cseb.reports.document import Document, Entry, Grid, Heading, marked
from cseb.text import plain, quantity

FOLDER = Path(__file__).parent
FIELDS = (
    *("status", "method", "resolved", "encoder", "corpus", "sentences", "tasks", "chosen on", "checkpoints"),
    *("cseb", "libraries", "machine", "finished", "took"),
)


def write(document: Document) -> str:
    """Return one HTML file; nothing in it is fetched."""
    from jinja2 import Environment, FileSystemLoader  # late: no other format needs it
    from markupsafe import Markup

    loader = FileSystemLoader(FOLDER)
    environment = Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True)
    return environment.get_template("page.html").render(
        folder=document.title,
        count=f"{len(document.records):,}" if document.records else "",
        blocks=list(_blocks(document)),
        records=Markup(_provenance(document.records)),  # noqa: S704 - `<` is escaped in it
        style=Markup((FOLDER / "style.css").read_text("utf-8")),  # noqa: S704 - our own file
        script=Markup((FOLDER / "script.js").read_text("utf-8")),  # noqa: S704 - our own file
    )


def _blocks(document: Document) -> Iterator[dict[str, object]]:
    """Return the template's view of each block. Captions and notes are below the first table they belong to."""
    shown_above: set[str] = set()
    for block in document.blocks:
        if isinstance(block, Heading):
            shown_above = set()
            yield {"heading": block.text}
        else:
            yield {"grid": _grid(block, shown_above)}
            shown_above |= {block.caption, *block.notes}


def _grid(grid: Grid, shown_above: Collection[str]) -> dict[str, object]:
    return {
        "title": grid.title,
        "numeric": grid.numeric,
        "columns": grid.columns,
        "rows": [
            {
                "name": row[0],
                "cells": [
                    _cell(row[0], column.title, entry) for column, entry in zip(grid.columns[1:], row[1:], strict=True)
                ],
            }
            for row in grid.rows
        ],
        "caption": marked(grid.caption, "Bold") if grid.caption not in shown_above else "",
        "notes": [marked(note, "Bold") for note in grid.notes if note not in shown_above],
        "signature": grid.signature,
    }


def _cell(name: Entry, column: str, entry: Entry) -> dict[str, object]:
    first = f" ({entry.remarks[0]})" if entry.remarks else ""
    seeds = [f"seed {seed}: {score}" for seed, score in entry.seeds.items()]
    return {
        "number": entry.text,
        "spread": entry.spread,
        "remarks": "; ".join(entry.remarks),
        "best": entry.bold,
        "sort": repr(entry.value) if entry.value is not None else "" if entry.seeds else entry.text,
        "behind": " ".join(f"{seed}:{key}" for seed, key in entry.keys.items()),
        "tip": "\n".join([f"{name.text}, {column}{first}", *seeds]),
        "open": bool(entry.seeds),
    }


def _provenance(records: Sequence[Record]) -> str:
    """Return every record as places in one list of texts, since records share most of their fields."""
    texts: dict[str, int] = {}
    rows = {record.key: [texts.setdefault(text, len(texts)) for text in _fields(record)] for record in records}
    provenance = {"fields": FIELDS, "texts": list(texts), "records": rows}
    return json.dumps(provenance, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


def _fields(record: Record) -> tuple[str, ...]:
    """Return the values of `FIELDS`."""
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
