"""A page that needs nothing but a browser: tables that sort, curves, and the records behind every number."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup

from cseb.results.figures import number, remarks
from cseb.results.html.curves import curves
from cseb.results.record import Record
from cseb.results.sheet import Sheet
from cseb.results.stats import Cell
from cseb.results.store import plain
from cseb.results.study import Study, tag
from cseb.results.tables import Heading, Row, Table

HERE = Path(__file__).parent
FIELDS = (
    *("status", "method", "resolved", "encoder", "corpus", "sentences", "tasks", "chosen on", "checkpoints"),
    *("cseb", "libraries", "machine", "finished", "took"),
)
Group = tuple[Sequence[Table], Sequence[Sheet], Study]


def page(folder: Path, groups: Sequence[Group]) -> str:
    """One HTML file; nothing in it is fetched. groups: tables, sheets, and the study their numbers come from."""
    records = {one.key: one for *_, study in groups for one in study.records}
    loader = FileSystemLoader(HERE)
    environment = Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True)
    return environment.get_template("page.html").render(
        folder=plain(folder.resolve().name),
        count=f"{len(records):,}",
        groups=[_group(*group) for group in groups],
        records=Markup(_provenance(records.values())),  # noqa: S704 - `<` is escaped in it
        style=Markup((HERE / "style.css").read_text("utf-8")),  # noqa: S704 - our own file
        script=Markup((HERE / "script.js").read_text("utf-8")),  # noqa: S704 - our own file
    )


def _group(tables: Sequence[Table], sheets: Sequence[Sheet], study: Study) -> dict[str, object]:
    first = study.records[0]
    figure = next((curves(table) for table in tables if table.name == "few-shot"), None)
    title = f"{plain(first.corpus.name)}" if study.encoders else f"{tag(first.encoder)} on {tag(first.corpus)}"
    return {
        "title": title,
        "curves": figure and Markup(figure.markup),  # noqa: S704 - escaped where it is made
        "curves_caption": figure and figure.caption,
        "tables": [_table(table, _said_before(tables[:place])) for place, table in enumerate(tables)],
        "sheets": list(sheets),
    }


def _said_before(tables: Sequence[Table]) -> set[str]:
    """Captions and notes that need not stand below another table."""
    return {text for table in tables for text in (table.caption, *table.notes)}


def _table(table: Table, said: set[str]) -> dict[str, object]:
    return {
        "title": table.title,
        "stub": table.stub,
        "columns": [column.title for column in table.columns],
        "rows": [_row(table, row) for row in table.rows],
        "caption": table.caption if table.caption not in said else "",
        "notes": [note for note in table.notes if note not in said],
        "signature": table.signature,
    }


def _row(table: Table, row: Row) -> dict[str, object]:
    seen = ", ".join(one for one in row.head.data_seen if one != "subset")
    return {
        "title": row.head.title,
        "code": bool(row.method),
        "beyond": f"has seen more than the subset: {seen}" if seen else "",
        "cells": [_cell(table, row.head, column, cell) for column, cell in zip(table.columns, row.cells, strict=True)],
    }


def _cell(table: Table, row: Heading, column: Heading, cell: Cell) -> dict[str, object]:
    signed = bool(row.minus or column.minus)
    mean, _, spread = number(cell, table.spread, signed=signed).partition(" ")
    said = remarks(cell, signed=signed)
    return {
        "number": mean,
        "spread": spread,
        "remarks": "; ".join(said) if cell.absent else "",
        "best": cell.best,
        "sort": "" if cell.mean is None else repr(cell.mean),
        "behind": " ".join(f"{seed}:{key}" for seed, key in cell.keys.items()),
        "tip": "\n".join([f"{row.title}, {column.title} ({said[0]})", *by_seed(cell)]),
    }


def by_seed(cell: Cell) -> list[str]:
    """One line for each seed that was planned."""
    points = {seed: f"{value:.2f}" for seed, value in cell.values.items()}
    return [f"seed {seed}: {what}" for seed, what in sorted({**points, **cell.absent}.items())]


def _provenance(records: Iterable[Record]) -> str:
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
        f"{protocol.dev} ({protocol.dev_pairs:,} labelled pairs)" if protocol.dev else "nothing",
        f"best at step {trace.best_step} of {trace.steps}" if trace else "none",
        f"{origin.cseb} {origin.commit}".strip(),
        ", ".join(f"{name} {version}" for name, version in origin.versions.items()),
        f"{origin.machine} {origin.device}, {protocol.threads} threads, {origin.dtype}",
        origin.finished,
        f"{record.cost.train_seconds + record.cost.score_seconds:.1f} s",
    )
