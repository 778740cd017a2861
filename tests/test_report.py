"""`cseb report` as users type it, over records of made-up numbers."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cseb.cli import app
from cseb.results.record import Record
from cseb.results.store import Store
from tests.results.factory import grid, record
from tests.results.test_kinds import heated


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return stored(tmp_path / "results", grid())


def stored(folder: Path, records: list[Record]) -> Path:
    store = Store(folder)
    store.prepare()
    for one in records:
        store.write(one, {})
    return folder


def said(*arguments: object) -> str:
    done = CliRunner().invoke(app, ["report", *map(str, arguments)])
    assert done.exit_code == 0, done.output
    return done.stdout


def refused(*arguments: object) -> str:
    done = CliRunner().invoke(app, ["report", *map(str, arguments)])
    assert done.exit_code == 2, done.output
    (line,) = done.stderr.splitlines()
    return line


def test_options_choose_rows_columns_and_spread(folder: Path) -> None:
    text = said(
        folder, "--methods", "simcse,first_last+recipe(steps=0)", "--sizes", "1000", "--spread", "range", "-f", "csv"
    )
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [(row["method"], row["size"]) for row in rows] == [
        ("simcse", "1000"),
        ("first_last+recipe(steps=0)", "1000"),
    ]
    assert rows[0]["best"] == "False"
    assert "62.60 [62.00, 63.20]" in said(folder, "--fraction", "0.01", "--spread", "range")
    [turned] = json.loads(
        said(folder, "--table", "tasks", "--fractions", "0.01", "--by", "task", "--tasks", "sts13,sts12", "-f", "json")
    )
    assert [row["title"] for row in turned["rows"]] == ["sts13", "sts12", "average"]


def test_tables_of_differences_and_options(tmp_path: Path) -> None:
    parts = [record(name, seed=seed) for name in ("msse", "msse-dcm") for seed in range(3)]
    text = said(stored(tmp_path / "a", parts), "--table", "ablation", "-f", "markdown")
    assert "| `msse-dcm` | 60.00 ± 0.00 (n=3) | +0.00 ± 0.00 (n=3) |" in text
    heat = [heated(t, 60.0 + t, seed) for t in (0.1, 0.05) for seed in range(3)]
    rows = list(csv.DictReader(io.StringIO(said(stored(tmp_path / "b", heat), "--table", "sensitivity", "-f", "csv"))))
    assert [row["row"] for row in rows] == ["0.05", "0.1"]


def test_rows_are_encoders_where_that_is_asked_for(tmp_path: Path) -> None:
    folder = stored(tmp_path / "r", [record(encoder=name, seed=seed) for name in ("x/one", "two") for seed in range(2)])
    assert said(folder).count("Shares of the corpus") == 2
    text = said(folder, "--by", "encoder")
    assert text.count("Shares of the corpus") == 1
    assert text.splitlines()[2].startswith("encoder")
    rows = list(csv.DictReader(io.StringIO(said(folder, "-f", "csv"))))
    assert [row["encoder"].partition("@")[0] for row in rows] == ["two", "x/one"]
    assert [one["encoder"].partition("@")[0] for one in json.loads(said(folder, "-f", "json"))] == ["two", "x/one"]


def test_encoders_as_they_stand_have_a_table_of_tasks(tmp_path: Path) -> None:
    def standing(name: str) -> Record:
        made = record("mean", size=1, encoder=name, corpus="none", dev="")
        return made.model_copy(update={"subset": replace(made.subset, size=0, fraction=1.0)})

    folder = stored(tmp_path / "r", [standing("x/one"), standing("two"), record(dev="")])
    text = said(folder, "--select", "last")
    assert [text.count(title) for title in ("Shares of the corpus", "Single tasks, encoders as they stand")] == [1, 1]
    below = text.partition("encoders as they stand")[2]
    assert {line.split()[0] for line in below.splitlines()[2:6] if line[:1].isalpha()} == {"encoder", "one", "two"}
    assert "hence no spread" in below
    assert said(folder, "--select", "last", "-f", "html").count("<table") == 3
    rows = list(csv.DictReader(io.StringIO(said(folder, "--select", "last", "-f", "csv"))))
    assert [row["row"] for row in rows if row["column"] in ("sts12", "0.1 % (100)")] == ["simcse", "two", "one"]
    assert {(row["table"], row["corpus"].partition("@")[0]) for row in rows} == {("few-shot", "wiki"), ("per-task", "")}
    trained, untrained = json.loads(said(folder, "--select", "last", "-f", "json"))
    assert (trained["name"], untrained["name"], untrained["encoder"]) == ("few-shot", "per-task", "")


def test_a_page_holds_all_tables_and_is_written_whole(folder: Path) -> None:
    out = folder / "page.html"
    assert said(folder, "-f", "html", "--out", out) == f"written to {out}\n"
    text = out.read_text("utf-8")
    assert [text.count(f"<h3>{title}") for title in ("Shares of the corpus", "Single tasks")] == [1, 2]
    assert text.endswith("</html>\n") or text.endswith("</html>")
    assert said(folder, "-f", "html", "--table", "tasks", "--fraction", "0.01").count("<table") == 1


def test_the_same_records_give_the_same_bytes(folder: Path) -> None:
    assert said(folder, "-f", "html") == said(folder, "-f", "html")


def test_numbers_stand_beside_the_papers(tmp_path: Path) -> None:
    tasks = tuple(f"{name}@1" for name in ("sts12", "sts13", "sts14", "sts15", "sts16", "stsb", "sickr"))
    records = [
        record("simcse", seed=s, encoder="bert-base-uncased", tasks=tasks, values=(60.0 + s,) * 7) for s in range(3)
    ]
    folder = stored(tmp_path / "r", records)
    assert "67.94 ± 1.16 (n=5)" in said(folder, "--against", "published")
    rows = list(csv.DictReader(io.StringIO(said(folder, "--against", "published", "-f", "csv"))))
    assert {"published", "difference", "where"} <= rows[0].keys()
    assert "beside the papers" in said(folder, "--against", "published", "-f", "html")
    assert "No paper of those" in said(stored(tmp_path / "other", grid()), "--against", "published")


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["--table", "words"], "'ablation'"),
        (["--by", "seed"], "'encoder'"),
        (["--spread", "iqr"], "'ci95'"),
        (["--mark", "all"], "'items'"),
        (["--against", "us"], "'published'"),
        (["--sizes", "many"], "--sizes is 'many'"),
        (["--methods", "nothing"], "no method is called 'nothing'"),
        (["--methods", "micse"], "no record is of the method 'micse'"),
        (["--tasks", "sts99"], "no record has a task called 'sts99'"),
        (["--table", "tasks"], "choose with --fraction, one of 0.001, 0.01"),
        (["--table", "ablation"], "say so with --full"),
        (["--table", "sensitivity"], "no option"),
        (["--mark", "items"], "take --mark seeds"),
        (["--out", "/nowhere/table.txt"], "/nowhere/table.txt cannot be written"),
    ],
)
def test_what_cannot_be_shown_is_said_in_one_line(folder: Path, arguments: list[str], what: str) -> None:
    assert what in refused(folder, *arguments)
