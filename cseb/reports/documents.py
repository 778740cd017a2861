"""Reports as documents: tables of scores under the encoder and corpus they are of, and comparisons."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cseb.analysis.comparable import tag
from cseb.analysis.study import Study
from cseb.reports.document import Block, Document, Heading
from cseb.reports.score_grid import curves, score_grid
from cseb.reports.sheet import Sheet
from cseb.reports.tables import Table
from cseb.text import plain


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Tables of results that are comparable with each other, and what stands beside them. tables: one at least."""

    tables: Sequence[Table]
    sheets: Sequence[Sheet] = ()

    @property
    def study(self) -> Study:
        """That of the first table."""
        return self.tables[0].study


def score_report(groups: Sequence[Group], title: str = "") -> Document:
    """Tables of scores, with curves over sizes. title: of a page, such as the name of the results folder."""
    studies = [table.study for group in groups for table in group.tables]
    records = {one.key: one for study in studies for one in study.records}
    return Document(
        title=title,
        blocks=tuple(block for group in groups for block in _blocks(group)),
        records=tuple(records.values()),
    )


def comparison(sheets: Sequence[Sheet]) -> Document:
    """Comparisons, one below the other."""
    return Document(blocks=tuple(sheet.grid() for sheet in sheets))


def _blocks(group: Group) -> Iterator[Block]:
    first = group.study.records[0]
    either = plain(first.corpus.name) if group.study.encoders else f"{tag(first.encoder)} on {tag(first.corpus)}"
    yield Heading(text=either)
    drawn = next((curves(table) for table in group.tables if table.name == "few-shot"), None)
    if drawn:
        yield drawn
    yield from map(score_grid, group.tables)
    yield from (sheet.grid() for sheet in group.sheets)
