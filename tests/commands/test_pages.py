"""compare, report, show, sample, verify and diff: the same pages as the command line prints, and rows as data."""

from __future__ import annotations

from pathlib import Path

import pytest

import cseb
from cseb.errors import BadBenchmark, BadResults, BadSpec
from tests.command_line import call

pytestmark = pytest.mark.xdist_group("api")  # in one process, so that their grid is run once


def printed(*words: object) -> str:
    done = call(*words)
    assert done.exit_code == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("format", ["terminal", "markdown", "latex", "csv", "json"])
def test_a_report_is_what_the_command_prints(folder: Path, format: str) -> None:
    assert cseb.report(folder, format) == printed("report", folder, "--format", format)


def test_a_report_of_results_in_memory(folder: Path) -> None:
    results = cseb.load(folder)
    assert cseb.report(results, "markdown", sizes=0.01, methods="simcse,msse") == printed(
        "report", folder, "-f", "markdown", "--sizes", "0.01", "--methods", "simcse,msse"
    )


def test_a_study_is_gathered_once_for_each_table(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from cseb.analysis.study import StudyQuery

    count, study = 0, StudyQuery.study

    def counted(self: StudyQuery, records: object) -> object:
        nonlocal count
        count += 1
        return study(self, records)  # type: ignore[arg-type]

    monkeypatch.setattr(StudyQuery, "study", counted)
    cseb.report(folder)
    assert count == 1


@pytest.mark.parametrize("format", ["terminal", "markdown", "latex", "csv", "json"])
def test_a_comparison_is_what_the_command_prints(folder: Path, format: str) -> None:
    found = cseb.compare(folder, baseline="simcse", sizes=[0.01])
    assert found.text(format) == printed("compare", folder, "--baseline", "simcse", "--sizes", "0.01", "-f", format)


def test_a_comparison_is_rows_and_a_frame(folder: Path) -> None:
    found = cseb.compare(folder, baseline="simcse")
    frame = found.frame()
    assert set(frame.baseline) == {"simcse"}
    assert sorted(set(frame.method)) == ["micse", "msse"]
    assert len(frame) == sum(row["sheet"] == "effects" for row in found.rows)
    assert str(found) == found.text("terminal")
    with pytest.raises(BadResults, match="known: effects"):
        found.frame("causes")
    with pytest.raises(BadSpec, match="'latex'"):
        found.text("word")


def test_what_excludes_each_other(folder: Path) -> None:
    with pytest.raises(BadBenchmark, match="one size"):
        cseb.sample("wikipedia:100", size="5,10")
    with pytest.raises(BadSpec, match="`format` is"):
        cseb.report(folder, "word")


def test_sample_draws_what_the_command_draws() -> None:
    drawn = cseb.sample("wikipedia:100", size=5, seed=3)
    assert "\n".join([*drawn, ""]) == printed("data", "sample", "wikipedia:100", "--size", 5, "--seed", 3)
    assert drawn == cseb.sample("wikipedia:100", size=0.05, seed=3)


def test_show_tells_of_methods_and_records(folder: Path) -> None:
    key = cseb.load(folder).records[0].key
    assert cseb.show("simcse").strip() == printed("show", "simcse").strip()
    assert cseb.show(key, results=folder).strip() == printed("show", key, "--results", folder).strip()
    assert cseb.show(key[:4], results=folder) == cseb.show(key, results=folder)


def test_verify_works_every_number_out_again(folder: Path) -> None:
    found = cseb.verify(folder)
    assert len(found) == len(cseb.load(folder))
    assert f"{sum(one.figures for one in found)} figures" in call("show", str(folder), "--verify").stdout


def test_diff_says_what_differs(folder: Path) -> None:
    first, second = (one.key for one in cseb.load(folder).records[:2])
    assert (
        cseb.show(first, second, results=folder).strip() == printed("show", first, second, "--results", folder).strip()
    )


def test_plot_draws_a_file_and_gives_its_caption(folder: Path, tmp_path: Path) -> None:
    caption = cseb.plot(folder, tmp_path / "mine.svg", kind="seeds")
    assert (tmp_path / "mine.svg").stat().st_size > 1000
    assert caption in printed("plot", folder, "--kind", "seeds", "--out", tmp_path / "other.svg")
