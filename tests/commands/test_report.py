"""`cseb report` as users type it, over records of made-up numbers."""

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from cseb.commands.results import benchmarks_of
from cseb.data import shipped
from cseb.experiment import benchmark as benchmarks
from cseb.methods.grammar import parse_methods
from cseb.records.record import Record
from cseb.reports.layouts import KINDS
from cseb.tasks.own import MEASURES
from tests.command_line import printed, refused
from tests.factory import grid, record, stored
from tests.reports.test_layouts import heated


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return folder_of(tmp_path / "results", grid())


def folder_of(path: Path, records: list[Record]) -> Path:
    return stored(path, *records).folder


def said(*arguments: object) -> str:
    return printed("report", *arguments)


def test_options_choose_rows_and_columns(folder: Path) -> None:
    text = said(folder, "--methods", "simcse,first_last+recipe(steps=0)", "--sizes", "1000", "-f", "csv")
    rows = list(csv.DictReader(io.StringIO(text)))
    rows_read = [(row["method"], row["size"]) for row in rows]
    assert rows_read == [("simcse", "1000"), ("first_last+recipe(steps=0)", "1000")]
    assert rows[0]["best"] == ""  # not tested
    [tasks] = json.loads(said(folder, "--table", "tasks", "--sizes", "0.01", "--tasks", "sts13,sts12", "-f", "json"))
    assert list(dict.fromkeys(row["column"] for row in tasks["rows"])) == ["sts13", "sts12", "average"]


def test_tables_of_differences_and_options(tmp_path: Path) -> None:
    parts = [record(name, seed=seed) for name in ("msse", "msse-dcm") for seed in range(3)]
    text = said(folder_of(tmp_path / "a", parts), "--table", "ablation", "-f", "markdown")
    assert "| `msse-dcm` | 60.00 | +0.00 |" in text
    heat = [heated(t, 60.0 + t, seed) for t in (0.1, 0.05) for seed in range(3)]
    rows = list(
        csv.DictReader(io.StringIO(said(folder_of(tmp_path / "b", heat), "--table", "sensitivity", "-f", "csv")))
    )
    assert [row["row"] for row in rows] == ["0.05", "0.1"]


def test_what_more_sentences_bring_stands_below_the_tables_in_every_format(folder: Path) -> None:
    text = said(folder, "--learning-curve", "-f", "markdown")
    head, _, curve = text.partition("Learning curve: the gain from more sentences, average of 3 tasks, best checkpoint")
    assert head.startswith(said(folder, "-f", "markdown").rstrip())
    rows = [line for line in curve.splitlines() if line.startswith("| `")]
    more = "10 times as many sentences (100 to 1,000)"
    assert rows == [  # by the numbers of `grid`: 2 points at every seed, hence no interval over seeds
        f"| `first_last+recipe(steps=0)` | {more} | +2.00 | -- | -- | -- | 3/3 |",
        f"| `micse+paraphrase(file='50%_&_#1.txt')` | {more} | +2.00 | -- | -- | -- | 2/2 |",
        f"| `simcse` | {more} | +2.00 | -- | -- | -- | 2/2 |",
    ]
    assert "More than 1,000 sentences were not measured" in curve
    assert "No intervals for new test examples:" in curve
    [row, *_] = csv.DictReader(io.StringIO(said(folder, "--learning-curve", "-f", "csv")))
    assert (row["sheet"], row["method"], row["from_size"], row["size"], row["n"]) == (
        *("learning-curve", "first_last+recipe(steps=0)", "100", "1000", "3"),
    )
    [sheet] = json.loads(said(folder, "--learning-curve", "-f", "json"))
    assert [each["mean"] for each in sheet["rows"]] == pytest.approx([2.0] * 3)
    for name, mark in (("terminal", "simcse"), ("latex", r"\texttt{simcse}")):
        text = said(folder, "--learning-curve", "-f", name)
        assert (more in text, mark in text) == (True, True)
    both = said(folder, "--learning-curve", "--checkpoint", "both")
    assert [f"{select} checkpoint" in both for select in ("best", "last")] == [True, True]


def test_a_learning_curve_outside_of_what_was_measured_is_refused(folder: Path) -> None:
    assert "needs two sizes and 2 seeds" in refused("report", folder, "--learning-curve", "--sizes", "100")
    assert "found 1 size (100)" in refused("report", folder, "--learning-curve", "--sizes", "100")
    assert "no record has the size 10000" in refused("report", folder, "--learning-curve", "--sizes", "100,10000")


def test_each_encoder_has_a_table_that_names_it(tmp_path: Path) -> None:
    folder = folder_of(
        tmp_path / "r", [record(encoder=name, seed=seed) for name in ("x/one", "two") for seed in range(2)]
    )
    text = " ".join(said(folder).split())
    assert text.count("Scores by fraction of the corpus") == 2
    assert ["Encoder x/one@" in text, "Encoder two@" in text] == [True, True]
    rows = list(csv.DictReader(io.StringIO(said(folder, "-f", "csv"))))
    assert [row["encoder"].partition("@")[0] for row in rows] == ["two", "x/one"]
    tables = json.loads(said(folder, "-f", "json"))
    assert [table["rows"][0]["encoder"].partition("@")[0] for table in tables] == ["two", "x/one"]


def test_what_one_of_several_encoders_lacks_is_shown_for_the_others(tmp_path: Path) -> None:
    """It said that no record had this method or size, and showed nothing."""
    runs = [
        record(method, size, seed, values=(50.0 + seed,) * 3, encoder=encoder)
        for encoder, method, size in (
            ("a", "simcse", 100),
            ("b", "simcse", 100),
            ("b", "micse", 100),
            ("b", "micse", 1000),
        )
        for seed in range(5)
    ]
    stored(tmp_path, *runs)
    for options, count in ((("--methods", "micse"), 1), (("--methods", "simcse,micse"), 2), (("--sizes", "1000"), 1)):
        assert printed("report", str(tmp_path), *options).count("Scores by fraction") == count
    compared = " ".join(printed("compare", str(tmp_path), "--baseline", "simcse").split())
    assert compared.count("Comparison with simcse") == 1 and "Not compared, a@" in compared
    assert "Not compared at 1 % of the corpus (1,000 sentences), without scores of simcse." in compared
    assert "size 50; known: 100, 1000" in refused("report", str(tmp_path), "--sizes", "50")


def test_a_fraction_is_that_of_the_corpus_of_each_record(tmp_path: Path) -> None:
    """1,000 sentences are 1 % of one corpus and 10 % of the other."""
    runs = [record(method, 1000, seed, corpus="large") for method in ("simcse", "micse") for seed in range(2)]
    small = [replace(run.subset, fraction=0.1) for run in runs]
    others = [record(run.method, 1000, run.seed, corpus="small") for run in runs]
    stored(tmp_path, *runs, *(run.model_copy(update={"subset": each}) for run, each in zip(others, small, strict=True)))
    for fraction, shown in (("0.01", "1,000 (1 %)"), ("0.1", "1,000 (10 %)")):
        for command in ("report", "compare"):
            text = printed(command, str(tmp_path), "--sizes", fraction)
            assert {size for size in ("1,000 (1 %)", "1,000 (10 %)") if size in text} == {shown}


def test_encoders_as_they_stand_have_a_table_of_tasks(tmp_path: Path) -> None:
    def standing(name: str) -> Record:
        made = record("mean", size=1, encoder=name, corpus="none", dev="")
        return made.model_copy(update={"subset": replace(made.subset, size=0, fraction=1.0)})

    folder = folder_of(tmp_path / "r", [standing("x/one"), standing("two"), record(dev="")])
    text = said(folder, "--checkpoint", "last")
    assert [text.count(title) for title in ("Scores by fraction of the corpus", "Single tasks, encoders")] == [1, 1]
    below = text.partition("Single tasks, encoders")[2]
    assert {line.split()[0] for line in below.splitlines()[2:6] if line[:1].isalpha()} == {"encoder", "one", "two"}
    assert "Scores by cseb eval (mean)" in below
    rows = list(csv.DictReader(io.StringIO(said(folder, "--checkpoint", "last", "-f", "csv"))))
    assert [row["row"] for row in rows if row["column"] in ("sts12", "100 (0.1 %)")] == ["simcse", "two", "one"]
    assert {(row["table"], row["corpus"].partition("@")[0]) for row in rows} == {("few-shot", "wiki"), ("per-task", "")}
    trained, untrained = json.loads(said(folder, "--checkpoint", "last", "-f", "json"))
    assert (trained["name"], untrained["name"], untrained["rows"][0]["encoder"]) == ("few-shot", "per-task", "")


def heats() -> list[Record]:
    return [
        record("simcse+ami", size=100),
        *(heated(t, 60.0 + t, seed).model_copy(update={"benchmark": "heat"}) for t in (0.1, 0.05) for seed in range(2)),
    ]


def laid_out(folder: Path, name: str, table: str, methods: list[str]) -> None:
    fields = {"name": name, "methods": methods, "encoder": "bert", "corpus": "my.txt", "sizes": [100], "seeds": 2}
    (folder / f"benchmark-{name}.yaml").write_text(yaml.safe_dump(fields | {"tasks": "sts", "table": table}))


def test_a_benchmark_says_how_its_report_is_laid_out(tmp_path: Path) -> None:
    methods = sorted({run.method for run in heats()[1:]})
    folder = folder_of(tmp_path / "one", heats()[1:])
    laid_out(folder, "heat", "sensitivity infonce.temperature", methods)
    assert said(folder).startswith("infonce.temperature, average of 3 tasks")
    assert said(folder, "--table", "few-shot").startswith("Scores by fraction of the corpus")
    laid_out(folder, "heat", "sensitivity infonce.temp", methods)
    text = " ".join(said(folder).split())
    assert text.startswith("Scores by fraction of the corpus")
    assert "Not as the benchmark lays it out (sensitivity): these methods have no option 'infonce.temp'" in text
    assert "no option" in refused("report", folder, "--table", "sensitivity:infonce.temp")


def test_a_task_is_looked_for_in_all_tables_of_a_folder(tmp_path: Path) -> None:
    """What `cseb eval` leaves beside a grid is scored on tasks of its own."""
    made = record("cls", encoder="a", tasks=("snli@1",), values=(40.0,), dev="", resolved="cls()@1")
    alone = made.model_copy(update={"subset": replace(made.subset, size=0, fraction=1.0)})
    folder = folder_of(tmp_path / "results", [*grid(), alone])
    trained, standing = said(folder, "--tasks", "sickr"), said(folder, "--tasks", "snli@1")
    assert ("first_last" in trained, "first_last" in standing) == (True, False)
    assert ("40.00" in trained, "40.00" in standing) == (False, True)
    assert refused("report", folder, "--tasks", "snly") == "cseb: no record has the task snly; did you mean snli?"
    assert "no records were scored on all of sickr, snli; name tasks of one run" in refused(
        "report", folder, "--tasks", "sickr,snli"
    )


@pytest.mark.parametrize(
    ("typed", "names"),
    [
        ("first16:open", ("first16:snli@1", "first16:banking77@1", "first16:clinc150@1")),
        ("first16:snli,snli@1", ("first16:snli@1", "snli@1")),
        ("folder/my.tsv,first16:folder/my.tsv", ("my.tsv@1", "first16:my.tsv@1")),
        ("my.tsv:geometry", tuple(f"my.tsv:{measure}@1" for measure in MEASURES)),
    ],
)
def test_tasks_are_named_as_for_a_run(tmp_path: Path, typed: str, names: tuple[str, ...]) -> None:
    results = folder_of(
        tmp_path,
        [
            record(method, seed=seed, tasks=(*names, "other@1"), values=(*[50.0 + seed] * len(names), 0.0))
            for method in ("simcse", "micse")
            for seed in range(3)
        ],
    )
    for asked in ([], ["--table", "tasks"]):
        rows = csv.DictReader(io.StringIO(said(results, "--tasks", typed, *asked, "-f", "csv")))
        shown = {name for row in rows for name in row["tasks"].split()}
        assert shown == set(names)
    compared = printed("compare", results, "--tasks", typed, "-f", "csv")
    assert {row["tasks"] for row in csv.DictReader(io.StringIO(compared)) if row["sheet"] == "effects"} == {
        " ".join(names)
    }


@pytest.mark.parametrize("name", shipped.benchmark_names())
def test_every_benchmark_can_be_laid_out_as_it_asks_for(name: str, tmp_path: Path) -> None:
    benchmark = benchmarks.load(name)
    file = tmp_path / f"benchmark-{benchmark.name}.yaml"
    file.write_text(benchmarks.text(benchmark), encoding="utf-8")
    assert benchmarks_of(tmp_path, [record(benchmark=benchmark.name)]) == [benchmark]
    kind, _, name_of = benchmark.table.partition(" ")
    special = {"ablation": {"full": name_of}, "sensitivity": {"option": name_of}}.get(kind, {})
    records = [
        record(str(method), size=int(1000 * share), resolved=method.at(share).resolved())
        for method in parse_methods(benchmark.methods)
        for share in benchmark.fractions or (1.0,)
    ]
    if kind:
        assert KINDS[kind](records, **special).name == {"tasks": "per-task"}.get(kind, kind)


def test_a_report_is_written_into_a_file(folder: Path) -> None:
    out = folder / "page.md"
    assert said(folder, "-f", "markdown", "--out", out) == f"written to {out}\n"
    assert out.read_text("utf-8") == said(folder, "-f", "markdown")


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["--sizes", "many"], "--sizes is 'many'"),
        (["--methods", "nothing"], "no record is of the method 'nothing'"),
        (["--tasks", "sts99"], "no record has the task sts99"),
        (["--table", "tasks"], "choose with --sizes, one of 100, 1000"),
        (["--table", "task"], "allowed: 'few-shot', 'tasks'"),
        (["--sizes", "1,000"], "without commas inside a number"),
        (["--sizes", "0.1%"], "where 0.001 is 0.1 %"),
        (["--sizes", "10.0"], "fractions in (0, 1]"),
        (["--table", "tasks:simcse"], "only ablation:METHOD or sensitivity:PART.OPTION takes a value"),
        (["--table", "ablation"], "--table ablation:METHOD"),
        (["--table", "sensitivity"], "no option"),
        (["--out", "/nowhere/table.txt"], "/nowhere/table.txt cannot be written"),
    ],
)
def test_what_cannot_be_shown_is_said_in_one_line(folder: Path, arguments: list[str], what: str) -> None:
    assert what in refused("report", folder, *arguments)
