"""Published numbers inside and outside our intervals, and those that do not compare."""

from __future__ import annotations

import pytest

from cseb.papers.printed import shipped_rows
from cseb.papers.reproduce import reproduced
from cseb.records.record import Record, Source
from cseb.registry import TASK_GROUPS
from cseb.regression.check_results import CheckResult
from tests.factory import record

STS = tuple(f"{name}@1" for name in TASK_GROUPS["sts"])


def grid(means: list[float], method: str = "msse", size: int = 100) -> list[Record]:
    """Runs with these averages, as the papers were run: a thousandth of a million sentences on BERT."""
    runs = [
        record(method, size, seed, values=(mean,) * 7, tasks=STS, encoder="bert-base-uncased", dev="stsb-dev@1")
        for seed, mean in enumerate(means)
    ]
    return [
        one.model_copy(update={"subset": type(one.subset)(size=1000, fraction=0.001, sha256="5" * 64)}) for one in runs
    ]


@pytest.mark.parametrize(("shift", "ok"), [(0.0, True), (5.0, False), (-5.0, False)])
def test_msse_on_a_thousandth(shift: float, ok: bool) -> None:
    """Printed: 75.81 ± 0.41 over five seeds."""
    best, last = reproduced(grid([75.5 + shift, 75.8 + shift, 76.1 + shift]))
    assert (best.question, best.cell, best.ok) == ("paper", "msse 0.1 % best", ok)
    assert best.text.startswith("msse, Table 2: 75.81 ± 0.41 (n=5); ")
    assert ("outside: ours 80.80 ± 0.30 (n=3), difference +4.99, expected from -0.63 to +0.63" in best.text) is (
        shift == 5.0
    )
    assert last.ok is None
    assert last.text.endswith("not comparable (checkpoint: the last, theirs the best on stsb-dev)")


def test_every_printed_value_is_answered() -> None:
    """SimCSE on a thousandth has three, one of them outside the seeds' scatter."""
    found = {
        one.text.partition(";")[0]: one.ok
        for one in reproduced(grid([65.5, 66.0, 65.9, 65.7, 65.4], "simcse"))
        if " best" in one.cell
    }
    assert {text: ok for text, ok in found.items() if "msse" in text} == {"msse, Table 2: 65.72 ± 0.25 (n=5)": True}
    assert found["micse, Table 2: 67.94 ± 1.16 (n=5)"] is False
    assert "micse, Table 4: 66.69 ± 1.03 (n=5) [inconsistent]" in found


def test_one_seed_and_another_world_are_not_judged() -> None:
    (one, _) = reproduced(grid([75.8]))
    assert one.ok is None
    assert "from one seed, so no interval; difference -0.01" in one.text
    other = reproduced(
        [one.model_copy(update={"encoder": Source(name="mine", sha256="e")}) for one in grid([75.0] * 3)]
    )
    assert other
    assert all(answer.ok is None and "encoder mine, theirs bert-base" in answer.text for answer in other)
    assert reproduced([record("simcse+recipe(steps=5)")]) == []


TRANSFER = tuple(f"{name}@1" for name in TASK_GROUPS["transfer"])


def whole(tasks: tuple[str, ...], values: tuple[float, ...], seed: int = 0, method: str = "simcse") -> Record:
    """A run on all of a million sentences, as transfer was printed."""
    measures = dict.fromkeys(TRANSFER, "senteval-transfer@1")
    one = record(
        method, 100, seed, values=values, tasks=tasks, encoder="bert-base-uncased", dev="stsb-dev@1", measures=measures
    )
    return one.model_copy(update={"subset": type(one.subset)(size=10**6, fraction=1.0, sha256="5" * 64)})


def best_of(records: list[Record]) -> dict[str, CheckResult]:
    return {one.text.partition(";")[0]: one for one in reproduced(records) if " best" in one.cell}


def test_printed_transfer_averages_are_answered() -> None:
    """35 of them never were: only the average of the STS tasks was looked for."""
    best = best_of([whole(TRANSFER, (85.8 + 0.1 * seed,) * 7, seed) for seed in range(3)])
    assert {"informin-cl, Table 4: 85.84", "msse, Table 7: 85.81"} <= set(best)
    assert {one.cell for one in best.values()} == {"simcse 100 % best transfer-avg"}
    assert best["msse, Table 7: 85.81"].ok is True


def test_each_printed_transfer_average_of_a_method_of_ours_is_reached() -> None:
    for row in shipped_rows():
        if row.cseb_method and row.task == "transfer-avg":
            share = row.fraction or 1.0
            runs = [whole(TRANSFER, (80.0 + seed,) * 7, seed, row.cseb_method) for seed in range(2)]
            runs = [
                one.model_copy(
                    update={
                        "encoder": Source(name=row.encoder, sha256="e"),
                        "subset": type(one.subset)(size=round(share * 10**6), fraction=share, sha256="5" * 64),
                    }
                )
                for one in runs
            ]
            assert any(f"{row.where}: {row.text}" in text for text in best_of(runs)), row


def test_both_averages_of_one_run_stand_beside_their_own() -> None:
    """Accuracies are not averaged with correlations, and each is judged by the protocol of its own tasks."""
    both = [whole((*STS, *TRANSFER), (76.2 + 0.1 * seed,) * 7 + (85.8 + 0.1 * seed,) * 7, seed) for seed in range(3)]
    found = best_of(both)
    assert "ours 85.90" in found["msse, Table 7: 85.81"].text
    assert found["msse, Table 7: 85.81"].ok is True
    correlations = [one for one in found.values() if one.cell == "simcse 100 % best"]
    assert correlations
    assert all("ours 76.30" in one.text for one in correlations if one.ok is not None)
    assert any(one.ok is not None for one in correlations)
    single = reproduced([whole(("sts12@1", "mr@1"), (68.0, 80.0), seed) for seed in range(3)])
    cells = {f"simcse 100 % {select} {task}" for select in ("best", "last") for task in ("sts12", "mr")}
    assert {one.cell for one in single} == cells


def test_tasks_that_no_paper_has_are_not_compared() -> None:
    assert reproduced([record(tasks=("own@1",), values=(80.0,), measures={"own@1": "k-means@1"})]) == []
