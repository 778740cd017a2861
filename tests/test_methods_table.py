"""The tables of all methods and their costs are those that registry, published scores and the demo's results give."""

import csv
import re
from pathlib import Path
from types import ModuleType

import pytest

from benchmarks.marked import with_table
from cseb.commands.describe import LISTINGS
from cseb.methods.grammar import NOT_OFFERED, parse_method
from cseb.methods.part_facts import facts
from cseb.papers.scores import shipped_rows
from cseb.registry import METHODS, SLOTS
from tests.conftest import script_of

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return script_of("methods")


def cells(table: str) -> dict[str, list[str]]:
    """The cells of every row by its first one."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines() if line[:1] == "|"]
    return {row[0].strip("`"): row[1:] for row in rows}


def test_every_table_is_the_one_that_is_made_afresh(script: ModuleType) -> None:
    for file, marker, made in script.TABLES:
        text = (ROOT / file).read_text(encoding="utf-8")
        assert with_table(text, f"{marker}, {script.BY}", made()) == text, (
            f"{file}, {marker}: python -m benchmarks.methods"
        )


def test_a_page_without_the_markers_is_refused_and_not_cut() -> None:
    assert with_table("a\n<!-- m -->\nold\n<!-- end -->\nb", "m", "new") == "a\n<!-- m -->\nnew\n<!-- end -->\nb"
    for page in ("a\nb", "a\n<!-- m -->\nb", "<!-- end -->\n<!-- m -->\n"):
        with pytest.raises(ValueError, match="needs <!-- m -->"):
            with_table(page, "m", "new")


def test_every_method_is_there_and_whatever_papers_print_and_we_lack_has_a_reason(script: ModuleType) -> None:
    rows = cells(script.methods_table())
    assert set(METHODS) < set(rows)
    assert {"cseb eval glove:FILE", "cseb eval words:tf-idf"} < set(rows)
    assert all(re.search(r"\b(19|20)\d\d\b", rows[name][0]) for name in METHODS)
    taken = {row.method for row in shipped_rows() if row.cseb_method} | {words.printed for words in script.WORDS}
    assert set(NOT_OFFERED) == {row.method for row in shipped_rows()} - taken
    listed = dict(LISTINGS["methods"]())
    assert set(listed) == {*METHODS, *NOT_OFFERED}
    assert all(listed[name] == f"does not run: {reason}" for name, reason in NOT_OFFERED.items())
    assert "osscse" in cells(script.not_offered_table())
    for text in re.findall(r"`([a-z]+\+[^`]*)`", " ".join(NOT_OFFERED.values())):
        parse_method(text.replace("PHI", "0.01"))


def test_whatever_a_method_needs_is_named(script: ModuleType) -> None:
    stated = {name: facts(name) for registry in SLOTS.values() for name in registry}
    wanted = {*SLOTS["stages"], *SLOTS["network"], *SLOTS["memory"], *SLOTS["post"]}
    wanted |= {name for name, each in stated.items() if each.columns or each.external}
    assert all(stated[name].requires for name in wanted)
    rows = cells(script.methods_table())
    assert rows["diffcse"][1:3] == ["generator, second encoder", "external, subset"]
    assert rows["rcl"][1:3] == ["labelled triples, models trained first", "labels, subset"]
    assert rows["cls"][1:3] == ["--", "nothing"]


def test_every_method_is_beside_its_authors_code_or_has_none(script: ModuleType) -> None:
    with (ROOT / script.CODE).open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["method"] for row in rows] == list(METHODS)
    for row in rows:
        differences = [row[name] for name in ("loss", "gradient", "update") if row[name]]
        assert all(0 <= float(value) < 1e-3 for value in differences), row["method"]
        if "/" in row["repository"]:
            assert re.fullmatch(r"[0-9a-f]{40}|v[0-9.]+", row["commit"]), row["method"]
            assert differences or row["compared"] == "read", row["method"]
        else:
            assert row["repository"] == "ours" or row["repository"].startswith("no public code"), row["method"]
            assert not row["commit"]


def test_our_numbers_are_those_of_the_files(script: ModuleType, tmp_path: Path) -> None:
    """One method as it is, one in a single form that fits, one in two, which is none; other sizes are left out."""
    real = tmp_path / "results" / "real"
    real.mkdir(parents=True)
    (real / "few-shot.csv").write_text(
        "method,fraction,size,select,tasks,mean,sd\nct,0.0839,1000,best,sts12@1,53.126,0.5\n"
        "ct,0.0839,1000,last,sts12@1,99,0.5\nct,0.839,10000,best,sts12@1,99,0.5\n"
        "mean,0.0839,1000,best,sts12@1,55.0,1e-14\nvascl+relu_mlp(width=8),0.0839,1000,best,sts12@1,21.126,1.25\n"
        "sg-opt+ami,0.0839,1000,best,sts12@1,1,1\nsg-opt+whiten,0.0839,1000,best,sts12@1,2,1\n"
    )
    for folder, mean in (("real-mini", 60.5), ("tuned", 58.5)):
        tuned = tmp_path / "results" / folder
        tuned.mkdir()
        (tuned / "few-shot.csv").write_text(
            f"method,fraction,size,select,tasks,mean,sd\nct,0.0839,1000,best,sts12@1,{mean},0.25\n"
            "ct,0.839,10000,best,sts12@1,9,0\n"
        )
    cpu = tmp_path / "results" / "real-mini" / "cpu"
    cpu.mkdir()
    (cpu / "few-shot.csv").write_text(
        "method,fraction,size,select,tasks,mean,sd\nct,0.0839,1000,best,sts12@1,1.0,0\n"
        "esimcse+mean,0.0839,1000,best,sts12@1,57.0,0.5\n"
        "rcl-unsup,0.0839,1000,best,sts12@1,57.5,0.5\n"
    )
    written = tmp_path / "results" / "written"
    written.mkdir()
    (written / "few-shot.csv").write_text(
        "method,fraction,size,select,tasks,mean,sd\nsyncse,0.5,1000,best,sts12@1,51.0,0.5\n"
        "simcse,0.5,1000,best,sts12@1,99,0.5\nsyncse,1,2000,best,sts12@1,99,0.5\n"
    )
    speed = tmp_path / "results" / "speed"
    speed.mkdir()
    (speed / "cost.csv").write_text(
        "setting,method,cpu_seconds,to_simcse,peak_mb\ngenerated,simcse,5.0,1.00,900\ngenerated,pcl,50.0,10.00,2000\n"
        "generated-triples,simcse,6.0,1.01,1000\ngenerated-triples,rcl,9.0,1.50,800\nembedded,crops,7.0,1.02,9\nembedded,pcl,20,2.0,9\n"
        "rated-pairs,cosent,7.0,1.03,9\ntriples,gist+outside_teacher(encoder='cseb-mini'),7.0,1.04,9\n"
    )
    rows = cells(script.methods_table(tmp_path))
    assert [rows[name][-2] for name in ("ct", "mean", "rcl")] == ["60.50 ± 0.25", "-- c", "-- b"]
    assert rows["rcl-unsup"][-2] == "57.50 ± 0.50"
    assert rows["esimcse"][-2] == "57.00 ± 0.50 *"  # ct's points there are not the ones on the GPU
    assert [rows[name][-1] for name in ("ct", "mean", "vascl", "sg-opt", "simcse", "rcl")] == [
        "58.50 ± 0.25", "55.00", "21.13 ± 1.25 *", "-- c", "-- c", "-- b",
    ]  # fmt: skip
    assert rows["syncse"][-1] == "51.00 ± 0.50 ‡"  # simcse's points there are on other sentences
    assert [rows[name][3] for name in ("simcse", "pcl", "rcl", "ct")] == ["1.00", "10.00", "1.50", "-- d"]
    assert [rows[name][3] for name in ("crops", "cosent", "gist")] == ["1.02 †", "1.03 §", "1.04 § *"]
