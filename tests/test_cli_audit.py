"""`cseb audit` from the outside: exit codes and formats."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from typer.testing import Result

from tests import command_line
from tests.stderr_lines import without_progress


def call(*arguments: object) -> Result:
    return command_line.call("audit", *arguments)


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    path = tmp_path / "mine.csv"
    path.write_text("paper,table,method,task,mean\nours,T|1,sim\x1b[2Jcse,trec,88.7\nours,T2,simcse,trec,88.6\n")
    return path


def test_findings_leave_1_unless_told_otherwise(mine: Path) -> None:
    assert call(mine).exit_code == 1
    assert call(mine, "--exit-zero").exit_code == 0
    mine.write_text("method,task,mean\nsimcse,trec,88.6\n")
    assert call(mine).exit_code == 0
    assert call(mine).output == "0 findings in 1 number\n"


def test_the_five_papers_by_default_and_beside_ones_own(mine: Path) -> None:
    alone = call()
    assert alone.exit_code == 1
    assert alone.output.splitlines()[-1].startswith("67 findings in 1,361 numbers and 57 sentences")
    assert call(mine, "published").output.splitlines()[-1].startswith("68 findings in 1,363 numbers and 57 sentences")


def test_formats_hold_the_same_findings(mine: Path) -> None:
    assert "granularity, 1: " in call(mine).output
    assert "500 items: 443 right are 88.600, one more 88.800" in call(mine).output
    assert "\x1b" not in call(mine).output
    assert "| ours, T\\|1 | " in call(mine, "-f", "markdown").output
    (row,) = csv.DictReader(io.StringIO(call(mine, "-f", "csv").output))
    (one,) = json.loads(call(mine, "-f", "json").output)["findings"]
    assert row == one
    assert (one["where"], one["printed"]) == ("ours, T|1", "88.7")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("nowhere.csv",), "nowhere.csv cannot be read"),
        (("--claims", "a.csv"), "--claims and --checks go together"),
        (("-f", "pdf"), "--format is 'pdf'; allowed: 'terminal'"),
    ],
)
def test_mistakes_are_one_line_and_2(arguments: tuple[str, ...], words: str) -> None:
    result = call(*arguments)
    assert result.exit_code == 2
    assert words in result.stderr
    assert len(without_progress(result.stderr)) == 1
