"""The table of orderings says what seeds say, and the one that is shown is the one that would be made."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from tests.conftest import script_of

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return script_of("orderings")


@pytest.mark.parametrize("name", ["microworld"])
def test_the_table_that_is_shown_is_fresh(script: ModuleType, name: str) -> None:
    folder = ROOT / "results" / name
    text = (folder / "README.md").read_text(encoding="utf-8")
    assert script.replaced(text, folder) == text, "run python -m benchmarks.orderings"


@pytest.mark.parametrize(
    ("differences", "said"),
    [
        ([1.0, 2.0, 3.0], "open (+2.00 ± 2.48)"),  # 4.303 standard errors of 1 / sqrt(3)
        ([2.0, 2.5, 3.0], "yes (+2.50 ± 1.24)"),
        ([-2.0, -2.5, -3.0], "no, the reverse (-2.50 ± 1.24)"),
        ([1.0, 2.0], ""),
    ],
)
def test_a_verdict_follows_from_the_differences(script: ModuleType, differences: list[float], said: str) -> None:
    below = dict.fromkeys(range(10), 40.0)
    above = {seed: 40.0 + difference for seed, difference in enumerate(differences)}
    assert script.verdict(above, below) == said


def test_printed_differences_are_those_of_one_table(script: ModuleType) -> None:
    """MSSE prints 80.15 and CompCSE 78.18 beside SimCSE's 76.25, each in one table."""
    assert script.printed("compcse", "simcse") == "+1.93 to +1.93 (compcse, msse)"
    assert script.printed("simcse", "no-such-method") == ""
