"""Reports as documents: tables of scores under their encoder and corpus, and comparisons."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cseb.analysis.comparable import tag
from cseb.analysis.study import Study
from cseb.reports.cell_text import number, remarks
from cseb.reports.document import Column, Document, Entry, Grid, Heading, Sheet
from cseb.reports.tables import Heading as TableHeading
from cseb.reports.tables import Row, Table
from cseb.text import plain

NUMBERS = ("mean", "sd", "sem", "ci95", "median", "iqm", "n", "failed", "collapsed", "missing", "best")


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Tables that are comparable with each other, at least one, and the sheets below them."""

    tables: Sequence[Table]
    sheets: Sequence[Sheet] = ()

    @property
    def study(self) -> Study:
        """Return the study of the first table."""
        return self.tables[0].study


def score_report(groups: Sequence[Group], title: str = "") -> Document:
    """Return tables of scores. title: of a page, such as the name of the results folder."""
    records = {record.key: record for group in groups for table in group.tables for record in table.study.records}
    blocks: list[Heading | Grid] = []
    for group in groups:
        first = group.study.records[0]
        where = plain(first.corpus.name) if group.study.encoders else f"{tag(first.encoder)} on {tag(first.corpus)}"
        blocks += [Heading(text=where), *map(score_grid, group.tables), *(sheet.grid() for sheet in group.sheets)]
    return Document(title=title, blocks=tuple(blocks), records=tuple(records.values()))


def comparison(sheets: Sequence[Sheet]) -> Document:
    """Return comparisons, one below the other."""
    return Document(blocks=tuple(sheet.grid() for sheet in sheets))


def score_grid(table: Table) -> Grid:
    """Return the table with the text of every cell."""
    return Grid(
        name=table.name,
        label=table.label,
        title=table.title,
        columns=(
            Column(title=table.stub),
            *(
                Column(title=head.title, code=bool(head.method), noted=_beyond(head), numeric=True)
                for head in table.columns
            ),
        ),
        rows=tuple((_name(row), *_entries(table, row)) for row in table.rows),
        caption=table.caption,
        notes=table.notes,
        signature=table.signature,
        values=tuple(_values(table)),
    )


def _name(row: Row) -> Entry:
    return Entry(text=row.head.title, code=bool(row.method), noted=_beyond(row.head))


def _beyond(head: TableHeading) -> str:
    """Return the data beyond the subset that training used."""
    return ", ".join(data for data in head.data_seen if data != "subset")


def _entries(table: Table, row: Row) -> Iterator[Entry]:
    for column, cell in zip(table.columns, row.cells, strict=True):
        signed = bool(row.head.minus or column.minus)
        mean, _, spread = number(cell, table.spread, signed=signed).partition(" ")
        seeds = {seed: f"{value:.2f}" for seed, value in cell.values.items()} | dict(cell.absent)
        yield Entry(
            text=mean,
            spread=spread,
            remarks=tuple(remarks(cell, signed=signed)),
            bold=bool(cell.best),
            value=cell.mean,
            seeds=dict(sorted(seeds.items())),
            keys=cell.keys,
        )


def _values(table: Table) -> Iterator[dict[str, object]]:
    """Return one row for each cell."""
    for row in table.rows:
        for column, cell in zip(table.columns, row.cells, strict=True):
            place = table.place(row, column)
            yield {
                "table": table.name,
                "encoder": table.encoder,
                "corpus": table.corpus,
                "row": row.head.title,
                "column": column.title,
                "method": place.method,
                "minus": place.minus,
                "data_seen": " ".join(place.data_seen),
                "fraction": place.fraction,
                "size": place.size,
                "select": place.select,
                "tasks": " ".join(place.tasks),
                **{name: getattr(cell, name) for name in NUMBERS},
                "values": cell.values,
                "absent": cell.absent,
                "keys": cell.keys,
                "signature": table.signature,
            }
