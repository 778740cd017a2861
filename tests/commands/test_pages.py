"""compare and report: the same pages as the command line prints, and rows as data."""

from pathlib import Path

import pytest

import cseb
from cseb.errors import BadResults, BadSpec
from tests.command_line import printed

pytestmark = pytest.mark.xdist_group("api")  # in one process, so that their grid is run once


@pytest.mark.parametrize("format", ["terminal", "json"])
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
        return study(self, records)

    monkeypatch.setattr(StudyQuery, "study", counted)
    cseb.report(folder)
    assert count == 1


@pytest.mark.parametrize("format", ["terminal", "json"])
def test_a_comparison_is_what_the_command_prints(folder: Path, format: str) -> None:
    result = cseb.compare(folder, baseline="simcse", sizes=[0.01])
    assert result.text(format) == printed("compare", folder, "--baseline", "simcse", "--sizes", "0.01", "-f", format)


def test_a_comparison_is_rows_and_a_frame(folder: Path) -> None:
    result = cseb.compare(folder, baseline="simcse")
    frame = result.frame()
    assert set(frame.baseline) == {"simcse"}
    assert sorted(set(frame.method)) == ["micse", "msse"]
    assert len(frame) == sum(row["sheet"] == "effects" for row in result.rows)
    assert str(result) == result.text("terminal")
    with pytest.raises(BadResults, match="known: effects"):
        result.frame("causes")
    with pytest.raises(BadSpec, match="'latex'"):
        result.text("word")
