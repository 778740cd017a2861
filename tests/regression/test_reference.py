"""Repeatability limits from repeats, digests of items, and the first field in which two records differ."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from cseb.errors import BadResults
from cseb.records.record import Record, Score, Source, Subset, Trace
from cseb.records.store import Store
from cseb.regression import reference as references
from cseb.regression.bitwise import unchanged
from cseb.regression.expected import against_expected
from cseb.regression.reference import Reference, Repeatability, condition_difference, conditions, digests
from tests.factory import record


def test_methods_have_limits_of_their_own_and_never_below_the_floor() -> None:
    spread = 0.8
    measured = Repeatability(repeats=5, cells="one", varied="threads", conditions={}, sd={"simcse": spread, "ct": 0.0})
    assert measured.limit("simcse") == pytest.approx(2.8 * spread, rel=0.011)  # ISO 5725 rounds 1.96 sqrt(2)
    assert measured.limit("simcse", 60) == pytest.approx(spread * np.sqrt(2) * stats.norm.isf(0.05 / 120))
    assert measured.limit("ct") == references.FLOOR == 0.01
    assert measured.limit("msse") is None


def counting(values: tuple[float, ...]) -> Record:
    """The first task counts 200 predictions."""
    rated = record("simcse", values=values)
    scores = [
        replace(score, items=200, detail={"accuracy": score.value}) if score.task == rated.scores[0].task else score
        for score in rated.scores
    ]
    return rated.model_copy(update={"scores": tuple(scores)})


def test_one_prediction_moves_an_average_over_tasks_by_its_part() -> None:
    assert references.one_prediction(record("simcse", values=(50.0, 60.0, 70.0))) == 0
    assert references.one_prediction(counting((50.0, 60.0, 70.0))) == pytest.approx((100 / 200 + 0.01) / 3)


@pytest.mark.parametrize(("sd", "first", "ok"), [(0.01, 50.5, True), (0.01, 51.0, False), (1e-6, 50.5, False)])
def test_where_predictions_turn_no_limit_is_below_one_of_them(
    tmp_path: Path, sd: float, first: float, ok: bool
) -> None:
    expected, fresh = Store(tmp_path / "expected"), Store(tmp_path / "fresh")
    expected.prepare()
    expected.write(counting((50.0, 60.0, 70.0)), {})
    elsewhere = {"cpu": "another"}
    measured = Repeatability(repeats=5, cells="1 job", varied="nothing", conditions=elsewhere, sd={"simcse": sd})
    references.write(expected.folder, Reference(conditions=elsewhere, repeatability=measured))
    found = against_expected(None, fresh, [counting((first, 60.0, 70.0))], expected, "mine")
    assert {one.ok for one in found if one.question == "drift"} == {ok}


def test_fewer_than_five_repeats_are_no_estimate() -> None:
    with pytest.raises(ValueError, match="greater than or equal to 5"):
        Repeatability(repeats=4, cells="", varied="", conditions={}, sd={})


def test_a_reference_reads_back(tmp_path: Path) -> None:
    assert references.read(tmp_path) == Reference()
    held = Reference(conditions=conditions([record()]), items={"k/best": "0" * 32})
    references.write(tmp_path, held)
    assert references.read(tmp_path) == held
    (tmp_path / references.FILE).write_text('{"items": 3}')
    with pytest.raises(BadResults, match="make it again with --update"):
        references.read(tmp_path)


def test_conditions_are_those_that_round_sums() -> None:
    here = conditions([record()])
    assert here["threads"] == "1"
    assert here["cpu"]
    assert condition_difference(here, here) == ""
    assert condition_difference(here, conditions([record(torch="2.8.0")])) == "torch is 2.7.0 here, 2.8.0 there"
    assert condition_difference(here, conditions([record(device="cuda")])) == "device is cpu here, cuda there"


def test_one_bit_of_one_item_changes_the_digest_of_its_checkpoint_alone() -> None:
    items = {f"sts12@1/{select}": np.array([0.5, np.nan, 0.25], dtype=np.float32) for select in ("best", "last")}
    before = digests("k", items)
    items["sts12@1/last"] = items["sts12@1/last"].copy()
    items["sts12@1/last"][2] = np.nextafter(np.float32(0.25), np.float32(1))
    after = digests("k", items)
    assert before["k/best"] == after["k/best"]
    assert before["k/last"] != after["k/last"]
    moved = {"other@1/best": items["sts12@1/best"]}
    assert digests("k", moved)["k/best"] != before["k/best"]


def changed(**fields: Any) -> Callable[[Record], Record]:
    return lambda one: one.model_copy(update=fields)


def rescored(**fields: Any) -> Callable[[Record], Record]:
    """The second score with other fields."""

    def change(one: Record) -> Record:
        first, second, *rest = one.scores
        values = {name: getattr(second, name) for name in Score.__dataclass_fields__}
        return one.model_copy(update={"scores": (first, Score(**(values | fields)), *rest)})

    return change


CURVE = Trace(steps=60, best_step=40, curve=((20, 1.5, 60.0), (40, 1.26, 62.5)))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (changed(encoder=Source(name="bert", sha256="0" * 64)), "encoder: bert 00000000, expected bert"),
        (changed(subset=Subset(size=100, fraction=0.001, sha256="6" * 64)), "subset: 66666666, expected 55555555"),
        (changed(resolved="dropout()@1 mean()@1 recipe()@1"), "resolved: mean@1: no options, expected absent"),
        (changed(trainer_version=2), "trainer_version: 2, expected 1"),
        (changed(trace=CURVE), "training at step 40: mean loss 1.26, expected 1.25"),
        (rescored(value=60.1), "sts13@1 best: 60.1, expected 60.0"),
        (
            rescored(detail={"spearman.mean": 60.0, "pearson.all": 61.0}),
            "sts13@1 best, pearson.all: 61.0, expected 60.0",
        ),
    ],
)
def test_the_first_field_that_differs_is_named(change: Callable[[Record], Record], words: str) -> None:
    (answer,) = unchanged([change(record())], [record()], {}, {})
    assert (answer.ok, answer.cell) == (False, "simcse 0.1 % seed 0")
    assert answer.text.startswith(words)
    (same,) = unchanged([record()], [record()], {}, {})
    assert (same.ok, same.moved) == (True, False)


def test_causes_come_before_effects() -> None:
    both = rescored(value=60.1)(changed(trace=CURVE)(record()))
    (answer,) = unchanged([both], [record()], {}, {})
    assert answer.text.startswith("training at step 40")


def test_items_alone_can_differ() -> None:
    one = record()
    held = {f"{one.key}/best": "a" * 32, f"{one.key}/last": "b" * 32}
    (answer,) = unchanged([one], [one], held | {f"{one.key}/last": "c" * 32}, held)
    assert answer.text == "items of the last checkpoint: digest cccccccc, expected bbbbbbbb"
    assert unchanged([one], [one], held, held)[0].ok
    assert unchanged([one], [record(seed=1)], held, held) == []
