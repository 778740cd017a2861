import numpy as np
import pytest
from scipy import stats

from cseb.analysis.stats import Cell, cell, difference, score
from cseb.reports.documents import remarks
from tests.factory import TASKS, record


def test_a_run_is_averaged_over_its_tasks() -> None:
    assert score(record(values=(50.0, 60.0, 71.5)), TASKS, "best") == pytest.approx(60.5)
    assert score(record(values=(50.0, 60.0, 70.0), last=(1.0, 2.0, 3.0)), TASKS, "last") == 2.0


@pytest.mark.parametrize(
    ("run", "why"),
    [
        (None, "missing"),
        (record(failed="boom"), "failed"),
        (record(values=(50.0, 60.0)), "missing"),
        (record(values=(50.0, None, 70.0)), "collapsed"),
        (record(values=(None, 60.0)), "collapsed"),
        (record(dev=""), "missing"),
    ],
)
def test_an_average_never_leaves_a_task_out(run: object, why: str) -> None:
    assert score(run, TASKS, "best") == why


def test_an_average_over_nothing_is_missing() -> None:
    assert score(record(), (), "best") == "missing"


def test_a_cell_is_numpy_over_the_averages_of_seeds() -> None:
    points = np.random.default_rng(0).uniform(0, 100, size=(5, 3))
    runs = {seed: record(seed=seed, values=tuple(row)) for seed, row in enumerate(points.tolist())}
    shown = cell(runs, range(5), TASKS, "best")
    assert shown.mean == pytest.approx(points.mean(axis=1).mean())
    assert shown.sd == pytest.approx(np.std(points.mean(axis=1), ddof=1))
    assert (shown.n, shown.failed, shown.collapsed, shown.missing) == (5, 0, 0, 0)
    assert shown.values == pytest.approx(dict(enumerate(points.mean(axis=1))))


@pytest.mark.parametrize("seeds", [2, 5, 9, 200])  # numpy sums up to 8, 128 and more in several orders
def test_mean_and_deviation_are_those_of_numpy_to_the_bit(seeds: int) -> None:
    points = np.random.default_rng(seeds).uniform(0, 100, size=seeds)
    runs = {seed: record(seed=seed, values=(value,) * 3) for seed, value in enumerate(points.tolist())}
    shown = cell(runs, range(seeds), TASKS[:1], "best")
    assert (shown.mean, shown.sd) == (np.mean(points), np.std(points, ddof=1))
    assert score(runs[0], TASKS, "best") == np.mean([points[0]] * 3)


def test_seeds_that_do_not_contribute_are_counted_and_named() -> None:
    runs = {
        0: record(seed=0, values=(60.0, 60.0, 60.0)),
        1: record(seed=1, failed="boom"),
        2: record(seed=2, values=(None, None, None)),
        3: record(seed=3, values=(99.0, 99.0)),
    }
    shown = cell(runs, range(5), TASKS, "best")
    assert (shown.mean, shown.sd, shown.n) == (60.0, None, 1)
    assert (shown.failed, shown.collapsed, shown.missing) == (1, 1, 2)
    assert shown.absent == {1: "failed", 2: "collapsed", 3: "missing", 4: "missing"}


def test_further_seeds_of_one_method_are_counted_and_not_missing_in_others() -> None:
    runs = {seed: record(seed=seed, values=(60.0 + seed,) * 3) for seed in range(4)}
    baseline = cell(runs, range(2), TASKS, "best")
    other = cell({seed: runs[seed] for seed in range(2)}, range(2), TASKS, "best")
    assert (baseline.mean, baseline.n, baseline.further, other.further) == (61.5, 4, 2, 0)
    assert (remarks(baseline), remarks(other)) == (["n=4"], [])
    for subtracted in (difference(baseline, other), difference(other, baseline)):
        assert (subtracted.n, subtracted.mean, subtracted.missing) == (2, 0.0, 0)


def test_an_untrained_method_has_no_missing_seed() -> None:
    runs = {0: record(seed=0, values=(60.0,) * 3, data_seen=())}
    shown = cell(runs, range(3), TASKS, "best")
    assert (shown.mean, shown.n, shown.missing, remarks(shown)) == (60.0, 1, 0, [])
    assert cell({0: record(seed=0)}, range(3), TASKS, "best").missing == 2
    assert cell({0: record(seed=0, values=(60.0,), data_seen=())}, range(3), TASKS, "best").missing == 1  # a task
    assert cell({0: record(seed=0, failed="boom", data_seen=())}, range(3), TASKS, "best").absent == {0: "failed"}


def test_no_seed_gives_no_number() -> None:
    shown = cell({}, (0, 1), TASKS, "last")
    assert (shown.mean, shown.sd, shown.n, shown.missing) == (None, None, 0, 2)


def test_spreads_are_those_of_scipy() -> None:
    points = [70.0, 72.0, 77.0, 71.0, 69.5]
    shown = cell(
        {seed: record(seed=seed, values=(value,) * 3) for seed, value in enumerate(points)}, range(5), TASKS, "best"
    )
    assert shown.sem == pytest.approx(stats.sem(points))
    low, high = stats.t.interval(0.95, 4, np.mean(points), stats.sem(points))
    assert shown.mean is not None and shown.ci95 is not None
    assert (shown.mean - shown.ci95, shown.mean + shown.ci95) == (pytest.approx(low), pytest.approx(high))
    for count in (3, 5):  # of three, no whole quarter is left out
        some = Cell(mean=None, sd=None, values=dict(enumerate(points[:count])), absent={})
        assert some.median == pytest.approx(np.median(points[:count]))
        assert some.iqm == pytest.approx(stats.trim_mean(points[:count], 0.25))


@pytest.mark.parametrize(
    ("values", "collapsed", "median", "iqm"),
    [
        ((70.0, 72.0, 77.0, 71.0), 1, 71.0, (70 + 71 + 72) / 3),
        ((70.0, 72.0, 77.0), 2, 70.0, None),
        ((70.0, 72.0), 2, None, None),
        ((70.0, 72.0), 0, 71.0, 71.0),
        ((), 1, None, None),
    ],
)
def test_collapsed_seeds(values: tuple[float, ...], collapsed: int, median: float | None, iqm: float | None) -> None:
    result = Cell(
        mean=None, sd=None, values=dict(enumerate(values)), absent=dict.fromkeys(range(90, 90 + collapsed), "collapsed")
    )
    assert (result.median, result.iqm) == (median, pytest.approx(iqm))


def test_a_difference_is_taken_seed_by_seed() -> None:
    first = Cell(mean=None, sd=None, values={0: 5.0, 1: 7.0, 2: 1.0}, absent={3: "failed", 4: "failed"})
    other = Cell(mean=None, sd=None, values={0: 4.0, 1: 4.0, 3: 1.0}, absent={2: "collapsed", 4: "missing"})
    result = difference(first, other)
    assert (result.values, result.absent) == ({0: 1.0, 1: 3.0}, {2: "collapsed", 3: "failed", 4: "failed"})
    assert (result.mean, result.sd) == (2.0, pytest.approx(2**0.5))
