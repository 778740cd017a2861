"""The sentence that a recommendation ends with, and what it advises to use."""

import pytest

from cseb.advice.estimate import Estimate, Finding
from cseb.advice.judges import Judge
from cseb.advice.look import Look
from cseb.advice.verdict import Recommendation, Row
from cseb.statistics.intervals import Interval

LOOK = Look("my.txt", 500, 0, tuple(range(500)), (3, 9, 30), 500, 32, 0.0, 0.01)


def advice(finding: Finding, gain: float, **given: object) -> Recommendation:
    known = Estimate(gain, Interval(gain - 1, gain + 1), "seeds and items", 5, finding)
    return Recommendation(**{  # type: ignore[arg-type]  # as its fields say
        "look": LOOK, "judge": Judge("a", "b", "agreement with 60 rated pairs"), "rows": (), "winner": "micse",
        "baseline": "mean", "estimate": known, "curve": None, "sizes": (0, 400), "words": {}, "seconds": 100.0,
        "training": 30.0, **given,
    })  # fmt: skip


def test_what_helps_is_named_with_its_gain_interval_judge_and_cost() -> None:
    said = advice("helps", 2.1).verdict()
    assert said == (
        "micse: +2.1 (+1.1 to +3.1) over the untrained mean by agreement with 60 rated pairs, over 5 fresh seeds; 30 s "
        "of training"
    )


@pytest.mark.parametrize(
    ("finding", "gain", "said", "chosen"),
    [
        ("helps", 2.1, "micse: ", "micse"),
        ("equal", -0.6, "keep the untrained mean: nothing beats it by more than 0.5", "mean"),
        ("harms", -3.0, "keep the untrained mean: the best method, micse, has -3.0", "mean"),
        ("unclear", 0.6, "cannot tell whether micse is better than the untrained mean", "micse"),
        ("unclear", 0.4, "cannot tell whether micse is better than the untrained mean", "mean"),
        ("unclear", -0.4, "cannot tell", "mean"),
    ],
)
def test_every_finding_has_its_words_and_its_choice(finding: Finding, gain: float, said: str, chosen: str) -> None:
    found = advice(finding, gain)
    assert found.verdict().startswith(said)
    assert found.chosen == chosen


def test_the_learning_curve_is_said_inside_the_measured_range_only() -> None:
    found = advice("helps", 2.1, curve=Estimate(0.6, Interval(-0.2, 1.4), "seeds", 5, "unclear"), sizes=(400, 4000))
    assert "10 times as many sentences (400 to 4,000) brought +0.6 (-0.2 to +1.4)" in found.verdict()
    assert "more than 4,000 bring was not measured" in found.verdict()


def test_without_a_race_there_is_no_verdict() -> None:
    assert "no verdict yet" in advice("helps", 2.1, winner="", estimate=None).verdict()
    assert "flatters it" in advice("helps", 2.1, estimate=None).verdict()


def test_the_table_says_where_each_column_is_from() -> None:
    rows = (Row("micse", 4, 60.0, 58.123, "winner of the race"), Row("ct", 1, 50.0, None, "lower half, round 1"))
    shown = advice(
        "helps",
        2.1,
        rows=rows,
        words={"TF-IDF": 40.0, "words": 20.5},
        trust="rank correlation 0.6",
        cut="the budget ended",
    ).table()
    assert "58.12" in shown
    assert "--" in shown.splitlines()[2]
    assert "Without layers, on what decides: TF-IDF 40.00, words 20.50." in shown
    assert "measured for other texts: rank correlation 0.6" in shown
    assert "items that the race has not seen" in shown
    assert shown.endswith("the budget ended.")
