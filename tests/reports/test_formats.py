"""One document model: every format is written from it, and one entry adds a format."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace

from cseb.analysis.query import StudyQuery
from cseb.reports.document import Column, Document, Entry, Grid, Heading
from cseb.reports.documents import Group, score_report
from cseb.reports.formats import FORMATS
from cseb.reports.layouts import few_shot, per_task
from tests.factory import grid


def made(name: str = "words") -> Grid:
    return Grid(
        name=name,
        title="Title & more",
        columns=(Column(title="name"), Column(title="points", numeric=True)),
        rows=(
            (Entry(text="a_b", code=True, noted="all"), Entry(text="1.50", spread="± 0.10", bold=True, value=1.5)),
            (Entry(text="c"), Entry(text="--", remarks=("1 failed",), incomplete=True)),
        ),
        notes=("A note.",),
        fields=("name", "points"),
        flat=lambda: [{"name": "a_b", "points": 1.5}, {"name": "c", "points": None}],
        nested=lambda: {"name": name, "rows": [1.5, None]},
    )


def test_every_format_writes_every_block_it_is_for() -> None:
    document = Document(blocks=(Heading(text="where"), made(), made()))
    written = {name: form.write(document) for name, form in FORMATS.items()}
    assert written["terminal"].splitlines()[:6] == [
        "Title & more", "", "name   points", "────────────────────", "a_b †  1.50 ± 0.10*", "c      -- (1 failed)",
    ]  # fmt: skip
    assert "| `a_b` † | **1.50 ± 0.10** |" in written["markdown"]
    assert r"\texttt{a\_b}$^\dagger$ & \textbf{1.50} {\scriptsize $\pm$ 0.10} \\" in written["latex"]
    assert [line for line in written["latex"].splitlines() if "label" in line] == [
        r"\label{tab:words}",
        r"\label{tab:words-2}",
    ]
    assert list(csv.DictReader(io.StringIO(written["csv"])))[:2] == [
        {"name": "a_b", "points": "1.5"},
        {"name": "c", "points": ""},
    ]
    assert json.loads(written["json"]) == [{"name": "words", "rows": [1.5, None]}] * 2
    assert "<h2>where</h2>" in written["html"]


def test_a_page_says_a_note_once_for_each_group_of_tables() -> None:
    tables = [few_shot(grid()), per_task(grid(), ask=StudyQuery(fractions=(0.01,)))]
    (note,) = [note for note in tables[0].notes if note.startswith("Encoder")]
    one, two = (
        score_report([Group(tables=held) for held in groups]) for groups in ([tables], [[one] for one in tables])
    )
    assert [FORMATS["html"].write(document).count(f"<li>{note}") for document in (one, two)] == [1, 2]


def test_rows_for_programs_are_made_when_a_format_asks_for_them() -> None:

    def forbidden() -> list[dict[str, object]]:
        raise AssertionError("only CSV asks for this")

    grid = replace(made(), flat=forbidden, nested=lambda: {})
    for name in FORMATS.keys() - {"csv"}:
        FORMATS[name].write(Document(blocks=(grid,)))
