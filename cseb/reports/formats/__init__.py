"""The output formats of reports, one module each. To add one, write its module and enter it in `FORMATS`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from cseb.reports.document import Grid
from cseb.reports.formats import csv, json, latex, markdown, terminal


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """An output format. write: returns tables as text. data: whether programs read it, in full precision."""

    write: Callable[[Sequence[Grid]], str]
    data: bool = False


FORMATS: Mapping[str, Format] = {
    "terminal": Format(write=terminal.write),
    "markdown": Format(write=markdown.write),
    "latex": Format(write=latex.write),
    "csv": Format(write=csv.write, data=True),
    "json": Format(write=json.write, data=True),
}
