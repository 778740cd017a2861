"""What may be said of a winner, on points whose truth is known."""

import numpy as np
import pytest

from cseb.advice.estimate import Estimate, estimate
from cseb.analysis.paired import Sample
from cseb.statistics.intervals import t_interval

SEEDS = (100, 101, 102, 103, 104)


def sample(values: tuple[float, ...], items: float = 0.0) -> Sample:
    """items: standard error over items."""
    moved = np.array([items / np.sqrt(2), -items / np.sqrt(2)])
    return Sample("m", dict(zip(SEEDS, values, strict=False)), dict.fromkeys(SEEDS[: len(values)], moved))


@pytest.mark.parametrize(
    ("after", "finding"),
    [
        ((12.0, 12.1, 11.9, 12.2, 12.0), "helps"),
        ((8.0, 8.1, 7.9, 8.2, 8.0), "harms"),
        ((10.1, 9.9, 10.0, 10.1, 9.9), "equal"),
        ((12.0, 8.0, 15.0, 9.0, 10.0), "unclear"),
    ],
)
def test_what_follows_from_an_interval(after: tuple[float, ...], finding: str) -> None:
    found = estimate(sample((10.0,) * 5), sample(after))
    assert found.finding == finding
    assert found.interval is not None
    expected = t_interval(np.array(after) - 10.0)
    assert (found.interval.low, found.interval.high) == pytest.approx((expected.low, expected.high))


def test_few_items_make_a_clear_gain_unclear() -> None:
    values = (12.0, 12.1, 11.9, 12.2, 12.0)
    assert estimate(sample((10.0,) * 5), sample(values, items=3.0)).finding == "unclear"


def test_only_seeds_that_both_have_are_compared() -> None:
    found = estimate(sample((10.0,) * 5), sample((12.0, 12.5)))
    assert (found.seeds, found.gain) == (2, pytest.approx(2.25))


def test_one_seed_without_items_has_no_interval() -> None:
    bare = [Sample("m", {100: value}, {}) for value in (10.0, 12.0)]
    assert estimate(*bare) == Estimate(2.0, None, "nothing", 1, "unclear")
    assert str(estimate(*bare)) == "+2.0"
