"""What is not the same about two results, and what another reading of them explains."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cseb.commands.differences import DEV, field_differences, matched, variants
from cseb.errors import BadResults
from cseb.records.record import Record
from cseb.records.store import Store
from cseb.registry import TASK_GROUPS
from tests.command_line import call
from tests.factory import record
from tests.world import WORLD

STS = tuple(f"{name}@1" for name in TASK_GROUPS["sts"])


def gaps(a: list[Record], b: list[Record]) -> dict[str, float | None]:
    return {one.name: one.gap for one in variants(a, b)}


def test_fields_that_differ_and_no_others() -> None:
    a, b = record(), record(seed=1, torch="2.8.0", resolved="dropout()@1 mean()@1 recipe(steps=90, dropout='model')@1")
    assert {name: (x, y) for name, x, y in field_differences([a], [b])} == {
        "part cls@1": ("no options", "absent"),
        "part mean@1": ("absent", "no options"),
        "part recipe@1": ("steps=60", "steps=90"),
        "seed": ("0", "1"),
        "versions": ("python 3.11.7, torch 2.7.0", "python 3.11.7, torch 2.8.0"),
    }
    assert field_differences([a], [a]) == []


def test_another_checkpoint_explains_its_part_of_the_gap() -> None:
    """A reports the best of its checkpoints, B has no dev set and reports its last."""
    a = record(values=(60.0, 60.0, 60.0), last=(57.0, 57.0, 57.0))
    b = record(dev="", last=(56.0, 56.0, 56.0))
    found = {one.name: (one.a, one.b) for one in variants([a], [b])}
    assert found["as reported by each"] == (60.0, 56.0)
    assert found["last checkpoint"] == (57.0, 56.0)
    assert found["best checkpoint"] == (60.0, None)
    assert found[DEV] == (62.0, 62.0)


def test_other_aggregations_are_read_from_the_record() -> None:
    def mean_of(one: Record, shift: float) -> Record:
        scores = tuple(replace(s, detail={"spearman.mean": (s.value or 0) + shift}) for s in one.scores)
        return one.model_copy(update={"scores": scores})

    found = gaps([mean_of(record(), 2.0)], [mean_of(record(), -1.0)])
    assert found["as reported by each"] == 0.0
    assert found["spearman.mean in place of the value"] == pytest.approx(-3.0)
    assert "pearson.all in place of the value" not in found


def test_only_common_tasks_compare() -> None:
    a, b = record(), record(tasks=("sts13@1",), values=(65.0,))
    found = gaps([a], [b])
    assert found["as reported by each"] == 5.0
    assert found["on 1 common task"] == 5.0
    b = record(tasks=("sts13@1", "other@1"), values=(65.0, 90.0))
    found = gaps([a], [b])
    assert (found["as reported by each"], found["on 1 common task"]) == (17.5, 5.0)
    with pytest.raises(BadResults, match="no task is common"):
        variants([a], [record(tasks=("other@1",), values=(1.0,))])


def test_a_collapsed_side_has_no_reading() -> None:
    assert gaps([record()], [record(values=(50.0, None, 70.0))])["as reported by each"] is None


def test_folders_are_matched_by_method_share_and_seed() -> None:
    a = [record(seed=seed, values=(50.0 + seed,) * 3) for seed in range(3)] + [record("msse")]
    b = [record(seed=seed, values=(60.0,) * 3) for seed in (1, 2, 3)] + [record("ct")]
    ((name, here, there),) = matched(a, b)
    assert name == "simcse 0.1 % (n=2)"
    assert [one.seed for one in here] == [one.seed for one in there] == [1, 2]
    assert gaps(here, there)["as reported by each"] == pytest.approx(8.5)
    with pytest.raises(BadResults, match="no method, fraction and seed in common"):
        matched([record()], [record(seed=1)])


def test_diff_prints_fields_and_readings(ran: Path) -> None:
    keys = sorted(Store(ran).keys())
    result = call("show", *keys, "--results", str(ran))
    assert result.exit_code == 0, result.output
    assert "part ami@2" in result.output
    assert "as reported by each" in result.output
    same = call("show", str(ran), str(ran))
    assert same.output.startswith("nothing differs but the run itself")
    assert same.output.count("+0.00") >= 2


def test_failed_records_have_nothing_to_read(store: Store) -> None:
    for seed in (0, 1):
        store.write(record("msse", seed=seed, tasks=STS, failed="the loss is not finite"), {})
    keys = sorted(store.keys())
    found = call("show", *keys, "--results", str(store.folder))
    assert (found.exit_code, found.output.splitlines()[-1]) == (0, "  neither side has scores: failed or collapsed")


def test_what_a_benchmark_replaces_is_said(tmp_path: Path) -> None:
    """200 steps became 50 and nobody said so: `show` had the paper's, the record what was run."""

    def said(*arguments: object) -> str:
        found = call(*arguments)
        assert found.exit_code == 0, found.output
        return found.stdout

    listed = said("run", WORLD, "--methods", "simcse,micse", "--seeds", "1", "--dry-run", "--results", tmp_path / "x")
    assert "the benchmark's scale and steps replace:" in listed
    assert "  micse   queue@2   size=384 became size=64" in listed
    assert "recipe@1  steps=15625, learning_rate=3e-05" in listed
    own = said("run", WORLD, "--methods", "cls", "--seeds", "1", "--dry-run", "--results", tmp_path / "x")
    assert "replace" not in own


def test_a_record_says_what_its_benchmark_replaced(ran: Path) -> None:
    by_name = {one.method.partition("+")[0]: one.key for one in Store(ran).load()[0]}
    shown = {name: call("show", key, "--results", str(ran)).stdout for name, key in by_name.items()}
    assert "replaced by" not in shown["cls"]
    block = shown["simcse"].partition("replaced by the benchmark's scale or steps\n")[2].partition("\n\n")[0]
    assert block == "  recipe@1  learning_rate=3e-05 became learning_rate=0.003"  # the rest was typed
    expected = Path(__file__).parents[2] / "benchmarks/expected/demo"
    key = next(one.key for one in Store(expected).load()[0] if one.method == "micse")
    found = call("show", key, "--results", str(expected)).stdout
    assert "replaced by the benchmark's scale or steps\n  queue@2   size=384 became size=16\n" in found
