"""The output formats of reports, one module each. To add one, write its module and enter it in `FORMATS`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from cseb.reports.document import Document
from cseb.reports.formats import csv, html, json, latex, markdown, terminal


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """An output format.

    write: returns a document as text. data: whether programs read it, in full precision. pages: whether it shows more
    of a folder than one table.
    """

    write: Callable[[Document], str]
    data: bool = False
    pages: bool = False


FORMATS: Mapping[str, Format] = {
    "terminal": Format(write=terminal.write),
    "markdown": Format(write=markdown.write),
    "latex": Format(write=latex.write),
    "csv": Format(write=csv.write, data=True),
    "json": Format(write=json.write, data=True),
    "html": Format(write=html.write, pages=True),
}
