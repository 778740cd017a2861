"""The table of what more sentences bring, beside comparisons and alone."""

from __future__ import annotations

import pytest

from cseb.analysis.study import gather
from cseb.reports.learning_curve import NAME, alone, no_learning_curve
from tests.reports.test_comparison_report import page
from tests.worlds import study


def test_a_learning_curve_has_items_where_a_comparison_has_them() -> None:
    shown = page(sizes=(100, 1000, 10_000), learning_curve=True)
    assert [one.name for one in shown].index(NAME) == len(shown) - 1
    curve = shown[-1]
    assert [line.cells[1] for line in curve.lines[:2]] == [
        "10 times as many sentences (100 to 1,000)",
        "10 times as many sentences (1,000 to 10,000)",
    ]
    first = curve.lines[0].values
    assert first["seeds_and_items_low"] < first["mean"] < first["seeds_and_items_high"]
    assert len({note for sheet in shown for note in sheet.notes}) == sum(len(sheet.notes) for sheet in shown)
    alone = page(effects={"simcse": 0}, sizes=(100, 1000), learning_curve=True)
    assert [one.name for one in alone] == [NAME]


def test_alone_it_says_how_items_are_clustered_and_what_was_not_measured() -> None:
    world, records = study({"simcse": 2}, sizes=(100, 1000))
    made = gather(records)
    found = alone(made, made.chosen(), "last", world.item_scores())
    assert found is not None
    [line] = found.lines
    assert line.values["mean"] == pytest.approx(1.0, abs=1.0)  # a point for each tenfold, and noise
    assert (line.values["from_size"], line.values["size"], line.values["n"]) == (100, 1000, 5)
    notes = " ".join(found.notes)
    assert "are clustered" in notes
    assert "What more than 1,000 sentences bring was not measured." in notes


def test_one_size_has_none_and_says_what_there_is() -> None:
    world, records = study({"simcse": 2})
    made = gather(records)
    assert alone(made, made.chosen(), "last", world.item_scores()) is None
    assert "found 1 size (100); run further `fractions`" in str(no_learning_curve([made]))
