"""Every format writes the same tables."""

import csv
import io
import json

from cseb.reports.document import Column, Entry, Grid
from cseb.reports.formats import FORMATS


def made(name: str = "words") -> Grid:
    return Grid(
        name=name,
        title="Title & more",
        columns=(Column(title="name"), Column(title="points", numeric=True)),
        rows=(
            (Entry(text="a_b", code=True, noted=True), Entry(text="1.50", spread="± 0.10", bold=True)),
            (Entry(text="c"), Entry(text="--", remarks=("1 failed",))),
        ),
        notes=("A note.",),
        values=({"name": "a_b", "points": {0: 1.5}}, {"name": "c", "points": None}),
    )


def test_every_format_writes_every_table() -> None:
    written = {name: form.write([made(), made()]) for name, form in FORMATS.items()}
    assert written["terminal"].splitlines()[:6] == [
        "Title & more", "", "name   points", "────────────────────", "a_b †  1.50 ± 0.10*", "c      -- (1 failed)",
    ]  # fmt: skip
    assert "| `a_b` † | **1.50 ± 0.10** |" in written["markdown"]
    assert r"\texttt{a\_b}$^\dagger$ & \textbf{1.50} {\scriptsize $\pm$ 0.10} \\" in written["latex"]
    labels = [line for line in written["latex"].splitlines() if "label" in line]
    assert labels == [r"\label{tab:words}", r"\label{tab:words-2}"]
    first = list(csv.DictReader(io.StringIO(written["csv"])))[:2]
    assert first == [{"name": "a_b", "points": "0:1.5"}, {"name": "c", "points": ""}]
    rows = [{"name": "a_b", "points": {"0": 1.5}}, {"name": "c", "points": None}]
    assert [table["rows"] for table in json.loads(written["json"])] == [rows] * 2
