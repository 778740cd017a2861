"""The table of scores in results/real/README.md is the one that would be made, and says what few-shot.csv says."""

from __future__ import annotations

import csv
from pathlib import Path
from types import ModuleType

import pytest

from tests.conftest import script_of

REAL = Path(__file__).parents[1] / "results" / "real"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return script_of("real_table")


def test_the_table_that_is_shown_is_fresh(script: ModuleType) -> None:
    text = (REAL / "README.md").read_text(encoding="utf-8")
    assert script.replaced(text, REAL) == text, "run python -m benchmarks.real_table"


def test_rows_are_sorted_and_say_how_many_seeds(script: ModuleType, tmp_path: Path) -> None:
    file = tmp_path / "few-shot.csv"
    rows = [
        ("cls", 1000, "best", 40.0, 1e-15, 5),
        ("simcse", 1000, "best", 45.123, 1.5, 3),
        ("simcse", 100, "best", 44.0, "", 1),
        ("simcse", 100, "last", 99.0, 1.0, 5),
        ("skd+outside_teacher(encoder='who/model-2')", 1000, "best", 50.0, 0.25, 5),
    ]
    with file.open("w", newline="") as stream:
        csv.writer(stream).writerows([("row", "size", "select", "mean", "sd", "n"), *rows])
    assert script.table(file).splitlines()[2:] == [
        "| `skd`, model-2 as teacher | mean |  | 50.00 ± 0.25 |",
        "| `simcse` | [CLS] | 44.00 (1 seed) | 45.12 ± 1.50 (3 seeds) |",
        "| `cls` | [CLS] |  | 40.00 |",
    ]


def test_the_vector_of_a_row_is_that_of_its_pooler(script: ModuleType) -> None:
    assert script.vector("simcse+mean") == "mean"
    assert script.vector("msse") == "mask token"
