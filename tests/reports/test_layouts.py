"""Tables of differences and of options: by hand."""

import numpy as np
import pytest

from cseb.analysis.study import StudyQuery, gather
from cseb.errors import BadResults
from cseb.records.method_text import read_method
from cseb.records.record import Record
from cseb.reports.layouts import ablation, options, sensitivity, varied
from tests.factory import record

FULL, LESS = (60.0, 64.0, 65.0), (58.0, 63.0, 61.0)


def runs(method: str, points: tuple[float, ...], **options: object) -> list[Record]:
    return [record(method, seed=seed, values=(point,) * 3, **options) for seed, point in enumerate(points)]


def heated(temperature: float, points: float, seed: int = 0, rate: float = 0.1) -> Record:
    resolved = f"cls()@1 infonce(weight=1.0, temperature={temperature})@1 recipe(rate={rate}, note='a )@1 b')@1"
    return record(f"msse+infonce(temperature={temperature})", seed=seed, values=(points,) * 3, resolved=resolved)


def test_an_ablation_shows_the_full_method_first_and_differences_by_seed() -> None:
    table = ablation([*runs("msse-dcm", LESS), *runs("msse", FULL)])
    assert [row.method for row in table.rows] == ["msse", "msse-dcm"]
    assert [column.title for column in table.columns] == ["100 (0.1 %)", "Δ 100 (0.1 %)"]
    result = table.rows[1].cells[1]
    gap = np.subtract(LESS, FULL)
    assert result.values == dict(enumerate(gap))
    assert (result.mean, result.sd) == (pytest.approx(gap.mean()), pytest.approx(gap.std(ddof=1)))
    assert table.rows[0].cells[1].mean is None
    assert "Ablation of msse" in table.title


def test_a_difference_needs_both_sides() -> None:
    table = ablation([*runs("msse", FULL[:2]), *runs("msse-dcm", LESS), record("msse", seed=2, failed="boom")])
    result = table.rows[1].cells[1]
    assert (result.values, result.absent) == ({0: -2.0, 1: -1.0}, {2: "failed"})


def test_the_full_method_is_found_or_asked_for() -> None:
    records = [*runs("simcse", FULL), *runs("micse", LESS)]
    with pytest.raises(BadResults, match="which of micse, simcse is the full method"):
        ablation(records)
    assert ablation(records, full="simcse").rows[1].cells[1].mean == pytest.approx(np.mean(np.subtract(LESS, FULL)))
    with pytest.raises(BadResults, match="no record is of the method 'rcl'"):
        ablation(records, full="rcl")
    more = [*records, *runs("simcse+ami", LESS)]
    assert [row.method for row in ablation(more, full="simcse").rows] == ["simcse", "simcse+ami"]
    chosen = ablation(more, full="simcse", query=StudyQuery(methods=("micse", "simcse")))
    assert [row.method for row in chosen.rows] == ["simcse", "micse"]


def test_rows_of_a_sensitivity_table_are_values_in_order() -> None:
    table = sensitivity([heated(0.1, 3.0), heated(0.05, 2.0), heated(0.2, 1.0)])
    assert [(row.head.title, row.cells[0].mean) for row in table.rows] == [("0.05", 2.0), ("0.1", 3.0), ("0.2", 1.0)]
    assert (table.stub, table.rows[0].method) == ("infonce.temperature", "msse+infonce(temperature=0.05)")
    assert "0.05: msse+infonce(temperature=0.05)." in table.notes
    assert [row.head.title for row in sensitivity([heated(10.0, 1.0), heated(9.0, 2.0)]).rows] == ["9", "10"]


def test_one_option_is_shown() -> None:
    coupled = [heated(0.1, 3.0), heated(0.2, 1.0, rate=0.3)]
    with pytest.raises(BadResults, match=r"2 options \(infonce.temperature, recipe.rate\)"):
        sensitivity(coupled)
    table = sensitivity(coupled, option="infonce.temperature")
    assert "These options differ too: recipe.rate." in table.notes
    for records, option, what in (
        ([heated(0.1, 3.0)], "", "no option"),
        (
            [heated(0.1, 3.0), record("mean", resolved="mean()@1")],
            "",
            r"differ in parts \(cls, infonce, mean, recipe\)",
        ),
        (coupled, "infonce.heat", "have no option 'infonce.heat'"),
        ([heated(0.1, 3.0), heated(0.2, 1.0)], "recipe.rate", "both have recipe.rate=0.1"),
    ):
        with pytest.raises(BadResults, match=what):
            sensitivity(records, option=option)


def test_values_that_are_numbers_rise() -> None:
    result = varied(gather([heated(0.1, 3.0), heated(0.05, 2.0)]))
    assert list(result.values.values()) == ["0.05", "0.1"]


def test_what_a_record_resolved_to_is_read_back() -> None:
    text = "mask_prompt(template='\"[X] )@1 means\" [MASK].')@12 queue(size=64, layers=(7, 8), x=None)@2"
    result = options(read_method(text))
    assert result == {
        "mask_prompt": "12",
        "mask_prompt.template": '"[X] )@1 means" [MASK].',
        "queue": "2",
        "queue.size": 64,
        "queue.layers": (7, 8),
        "queue.x": None,
    }
