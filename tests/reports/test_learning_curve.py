"""Learning curves: differences by hand, beside comparisons and alone."""

import numpy as np
import pytest
from scipy.stats import t

from cseb.analysis.paired import Sample
from cseb.analysis.study import gather
from cseb.reports.comparison_report import learning_curve_alone, learning_curve_sheet
from cseb.reports.document import Sheet
from tests.factory import record
from tests.worlds import study

FEW, MANY, MOST = {0: 50.0, 1: 52.0, 2: 51.0}, {0: 53.0, 1: 54.0, 2: 55.0, 3: 90.0}, {1: 54.0, 2: 56.0}


def curve(**by_size: dict[str, dict[int, float]]) -> Sheet | None:
    """Return the sheet of scores by method and seed; sizes are typed as n100."""
    samples = {
        int(size[1:]): [Sample(method, points, {}, "no items were asked for") for method, points in methods.items()]
        for size, methods in by_size.items()
    }
    return learning_curve_sheet(gather([record()]), samples, ("sts12@1",), "last")


def test_a_step_is_paired_by_seed_and_its_interval_is_students() -> None:
    sheet = curve(n1000={"simcse": MANY}, n100={"simcse": FEW})
    [line] = sheet.lines
    values = line.values
    assert (values["from_size"], values["size"], values["seeds"]) == (100, 1000, "0,1,2")
    gaps = np.array([3.0, 2.0, 4.0])
    half = t.ppf(0.975, 2) * gaps.std(ddof=1) / np.sqrt(3)
    assert (values["mean"], values["seeds_low"], values["seeds_high"]) == pytest.approx((3, 3 - half, 3 + half))
    assert line.cells[1] == "10 times as many sentences (100 to 1,000)"
    assert "No intervals for new test examples: no items were asked for." in sheet.notes


def test_neighbouring_sizes_of_each_method_are_compared() -> None:
    sheet = curve(
        n100={"simcse": FEW, "cls": FEW},
        n1000={"simcse": MANY, "cls": FEW},
        n5000={"simcse": MOST, "cls": FEW, "late": FEW},
    )
    steps = [(line.values["method"], line.values["from_size"], line.values["size"]) for line in sheet.lines]
    assert steps == [("simcse", 100, 1000), ("simcse", 1000, 5000)]
    assert "The same scores at all sizes: cls." in sheet.notes
    assert "Fewer than 2 seeds at two sizes: late." in sheet.notes
    assert curve(n100={"simcse": FEW}, n1000={"simcse": {2: 55.0, 7: 54.0}}) is None


def test_alone_it_has_notes_on_clusters_and_sizes() -> None:
    world, records = study({"simcse": 2}, sizes=(100, 1000))
    made = gather(records)
    sheet = learning_curve_alone(made, made.chosen(), "last", world.item_scores())
    assert sheet.lines[0].values["mean"] == pytest.approx(1.0, abs=1.0)  # a point for each tenfold, and noise
    notes = " ".join(sheet.notes)
    assert "are clustered" in notes
    assert "More than 1,000 sentences were not measured." in notes
