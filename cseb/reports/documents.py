"""Tables of scores as text and as rows for programs."""

from __future__ import annotations

from collections.abc import Iterator

from cseb.analysis.stats import Cell
from cseb.reports.document import Column, Entry, Grid
from cseb.reports.tables import Row, Table

ROUNDING = 1e-9  # seeds whose scores differ by less have the same score


def number(cell: Cell, *, signed: bool = False) -> str:
    """Return `72.31 ± 0.40`, `72.31` if seeds do not differ, `--`, or "" for an empty cell."""
    if cell.mean is None:
        return "--" if cell.absent else ""
    sign = "+z" if signed else "z"  # z: no minus before 0.00
    mean = f"{cell.mean:{sign}.2f}"
    if cell.sd is None or cell.sd < ROUNDING:
        return mean
    return f"{mean} ± {cell.sd:.2f}"


def remarks(cell: Cell, *, signed: bool = False) -> list[str]:
    """Return the number of seeds if it is not that of the table, and why; of collapsed ones also the median and IQM."""
    if not cell.absent:
        return [f"n={cell.n}"] if cell.further else []
    counts = {"failed": cell.failed, "collapsed": cell.collapsed, "missing": cell.missing}
    seeds = [f"n={cell.n}"] if cell.n else []
    texts = [", ".join([*seeds, *(f"{count} {reason}" for reason, count in counts.items() if count)])]
    if cell.collapsed and cell.n and not signed:
        for name, value in (("median", cell.median), ("IQM", cell.iqm)):
            texts.append(f"{name} --" if value is None else f"{name} {value:.2f}")
    return texts


NUMBERS = ("mean", "sd", "sem", "ci95", "median", "iqm", "n", "failed", "collapsed", "missing", "best")


def score_grid(table: Table) -> Grid:
    """Return the table with the text of every cell."""
    return Grid(
        name=table.name,
        label=table.label,
        title=table.title,
        columns=(
            Column(title=table.stub),
            *(Column(title=head.title, numeric=True) for head in table.columns),
        ),
        rows=tuple(
            (Entry(text=row.head.title, code=True, noted=row.head.beyond), *_entries(table, row)) for row in table.rows
        ),
        caption=table.caption,
        notes=table.notes,
        signature=table.signature,
        values=tuple(_values(table)),
    )


def _entries(table: Table, row: Row) -> Iterator[Entry]:
    for column, cell in zip(table.columns, row.cells, strict=True):
        signed = bool(column.minus)
        mean, _, spread = number(cell, signed=signed).partition(" ")
        yield Entry(text=mean, spread=spread, remarks=tuple(remarks(cell, signed=signed)), bold=bool(cell.best))


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
