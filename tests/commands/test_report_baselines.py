"""Baselines that `cseb eval` scored, in the report of a grid."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import command_line
from tests.commands.test_eval import call

Tiny = Callable[[str], Path]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_report_holds_runs_and_encoders_as_they_stand(tiny: Tiny) -> None:
    shutil.copytree(Path(__file__).parents[2] / "benchmarks" / "expected" / "demo", "results")
    assert call("words:tf-idf", tasks="banking77").exit_code == 0
    shown = command_line.printed("report", "--detail")
    assert "Scores by fraction of the corpus" in shown
    assert "Baseline words:tf-idf, average over these tasks: 72.44." in shown
    assert "words:tf-idf@" in shown


def rated(*ratings: float) -> None:
    """Write a task of three pairs with these ratings."""
    pairs = ("a dog runs\ta dog sleeps", "two red cars\tthree red cars", "it rains\tthey sing")
    lines = [f"{pair}\t{rating}" for pair, rating in zip(pairs, ratings, strict=True)]
    Path("own.tsv").write_text("\n".join(["sentence1\tsentence2\tscore", *lines]) + "\n")


def test_tables_of_a_task_with_other_data_say_so(tiny: Tiny) -> None:
    rated(1, 5, 3)
    assert call(tiny("bert"), tasks="own.tsv").exit_code == 0
    assert "Task data" not in command_line.printed("report")
    rated(5, 1, 3)
    assert call(tiny("bert"), tasks="own.tsv").exit_code == 0
    assert len(set(re.findall(r"(?m)^Task data [0-9a-f]{8}\.$", command_line.printed("report")))) == 2


def test_a_baseline_that_was_scored_on_other_data_of_a_task_is_not_shown(tiny: Tiny) -> None:
    def shown() -> str:
        grid = ("--methods", "mean", "--seeds", "1", "--sizes", "8", "--steps", "1", "--dev", "none", "--workers", "1")
        command_line.printed("run", "demo", *grid, "--encoder", tiny("bert"), "--tasks", "own.tsv")
        return command_line.printed("report", "--detail")

    rated(1, 5, 3)
    assert call("words:tf-idf", tasks="own.tsv").exit_code == 0
    assert "Baseline words:tf-idf" in shown()
    rated(5, 1, 3)
    shutil.rmtree(Path("results/runs"))
    assert call("words:tf-idf", tasks="own.tsv").exit_code == 0
    rated(1, 5, 3)
    assert "Baseline words:tf-idf" not in shown()
