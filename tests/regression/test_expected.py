"""Expected records, the file beside them, and the first field in which two records differ."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cseb.errors import BadBenchmark, BadResults
from cseb.records.method_text import read_method
from cseb.records.record import Record, Score, Source, Subset, Trace
from cseb.records.store import Store
from cseb.regression.comparison import compare, unchanged
from cseb.regression.expected import (
    FILE,
    Reference,
    against_expected,
    condition_difference,
    conditions,
    digests,
    read,
    update,
    write,
)
from tests.factory import grid, record, stored


def test_a_reference_reads_back(tmp_path: Path) -> None:
    assert read(tmp_path) == Reference()
    reference = Reference(conditions=conditions([record()]), items={"k/best": "0" * 32})
    write(tmp_path, reference)
    assert read(tmp_path) == reference
    (tmp_path / FILE).write_text('{"items": 3}')
    with pytest.raises(BadResults, match="make it again with --update"):
        read(tmp_path)


def test_conditions_are_those_that_round_sums() -> None:
    ours = conditions([record()])
    assert ours["threads"] == "1"
    assert ours["cpu"]
    assert condition_difference(ours, ours) == ""
    assert condition_difference(ours, conditions([record(torch="2.8.0")])) == "torch is 2.7.0 here, 2.8.0 there"
    assert condition_difference(ours, conditions([record(device="cuda")])) == "device is cpu here, cuda there"


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
    return lambda record: record.model_copy(update=fields)


def rescored(**fields: Any) -> Callable[[Record], Record]:
    """The second score with other fields."""

    def change(record: Record) -> Record:
        first, second, *rest = record.scores
        values = {name: getattr(second, name) for name in Score.__dataclass_fields__}
        return record.model_copy(update={"scores": (first, Score(**(values | fields)), *rest)})

    return change


CURVE = Trace(steps=60, best_step=40, curve=((20, 1.5, 60.0), (40, 1.26, 62.5)))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (changed(encoder=Source(name="bert", sha256="0" * 64)), "encoder: bert@00000000, expected bert@"),
        (changed(subset=Subset(size=100, fraction=0.001, sha256="6" * 64)), "subset: 66666666, expected 55555555"),
        (changed(parts=read_method("dropout()@1 mean()@1")), "part mean@1: no options, expected absent"),
        (changed(trainer_version=2), "trainer version: 2, expected 1"),
        (changed(trace=CURVE), "training at step 40, mean loss: 1.26, expected 1.25"),
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
    run = record()
    expected = {f"{run.key}/best": "a" * 32, f"{run.key}/last": "b" * 32}
    (answer,) = unchanged([run], [run], expected | {f"{run.key}/last": "c" * 32}, expected)
    assert answer.text == "items of the last checkpoint: digest cccccccc, expected bbbbbbbb"
    assert unchanged([run], [run], expected, expected)[0].ok
    assert unchanged([run], [record(seed=1)], expected, expected) == []


def with_items(folder: Path, *records: Record) -> Store:
    return stored(folder, *records, items={"sts12@1/best": np.ones(2, dtype=np.float32)})


def test_an_update_makes_fresh_records_the_expectation(tmp_path: Path) -> None:
    old = [record(seed=0, resolved="cls()@1"), record(seed=0, encoder="old"), record("msse"), record(seed=1)]
    new = [record(seed=0), record(seed=1)]
    expected, fresh = with_items(tmp_path / "expected", *old), with_items(tmp_path / "fresh", *new)
    assert update(fresh, new, expected) == (2, 2)
    records, problems = expected.load()
    assert problems == []
    assert {each.key for each in records} == {each.key for each in (*new, old[2])}
    assert all(check.ok for check in compare([*new, old[2]], records, 0))
    assert set(read(expected.folder).items) == {f"{each.key}/best" for each in new}


def test_a_failure_is_never_expected(tmp_path: Path) -> None:
    with pytest.raises(BadResults, match="a failure cannot be expected"):
        update(Store(tmp_path / "fresh"), grid(), Store(tmp_path / "expected"))
    assert not (tmp_path / "expected").exists()


def test_a_benchmark_without_tolerance_is_not_compared(tmp_path: Path) -> None:
    with pytest.raises(BadBenchmark, match="mine has no tolerance"):
        against_expected(None, Store(tmp_path), [], Store(tmp_path), "mine")
