"""One document model: every format is written from it, and one entry adds a format."""

from __future__ import annotations

import csv
import io
import json

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
            (Entry(text="c"), Entry(text="--", remarks=("1 failed",))),
        ),
        notes=("A note.",),
        values=({"name": "a_b", "points": {0: 1.5}}, {"name": "c", "points": None}),
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
        {"name": "a_b", "points": "0:1.5"},
        {"name": "c", "points": ""},
    ]
    rows = [{"name": "a_b", "points": {"0": 1.5}}, {"name": "c", "points": None}]
    assert [table["rows"] for table in json.loads(written["json"])] == [rows] * 2
    assert "<h2>where</h2>" in written["html"]


def test_a_page_says_a_note_once_for_each_group_of_tables() -> None:
    tables = [few_shot(grid()), per_task(grid(), query=StudyQuery(fractions=(0.01,)))]
    (note,) = [note for note in tables[0].notes if note.startswith("Encoder")]
    one, two = (
        score_report([Group(tables=held) for held in groups]) for groups in ([tables], [[one] for one in tables])
    )
    assert [FORMATS["html"].write(document).count(f"<li>{note}") for document in (one, two)] == [1, 2]
