"""Our numbers beside printed ones, by hand; and the marks of the best methods."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from cseb.analysis.paired import MOST
from cseb.analysis.query import StudyQuery
from cseb.papers.published_comparison import compared_with_published
from cseb.papers.scores import printed_name
from cseb.records.record import Record
from cseb.reports.layouts import few_shot, per_task
from tests.factory import record

STS = tuple(f"{task}@1" for task in ("sts12", "sts13", "sts14", "sts15", "sts16", "stsb", "sickr"))


def runs(points: Sequence[float], method: str = "simcse", **options: object) -> list[Record]:
    settings = {"encoder": "org/bert-base-uncased", "tasks": STS, "size": 100, **options}
    return [record(method, seed=seed, values=(value,) * 7, **settings) for seed, value in enumerate(points)]  # type: ignore[arg-type]


def full(records: list[Record]) -> list[Record]:
    """As if a hundred sentences were a thousandth of what the papers have."""
    wiki = {"subset": records[0].subset.__class__(size=1000, fraction=0.001, sha256="5" * 64)}
    return [one.model_copy(update=wiki) for one in records]


def test_a_cell_stands_beside_what_the_papers_print() -> None:
    records = full(runs([67.0, 68.0, 69.0]))
    found = [
        line for line in compared_with_published(few_shot(records)).lines if line.values["where"] == "micse, Table 2"
    ]
    (line,) = found
    assert line.cells[:5] == (
        "simcse 1,000 (0.1 %)",
        "68.00 ± 1.00 (n=3)",
        "67.94 ± 1.16 (n=5)",
        "micse, Table 2",
        "+0.06",
    )
    assert line.values["difference"] == pytest.approx(0.06)
    assert (line.values["in_their_spread"], line.values["agrees"]) == (True, True)
    far = full(runs([77.0, 78.0, 79.0]))
    (line,) = [one for one in compared_with_published(few_shot(far)).lines if one.values["where"] == "micse, Table 2"]
    assert (line.values["in_their_spread"], line.values["agrees"]) == (False, False)


def test_what_was_measured_otherwise_does_not_compare() -> None:
    records = runs([67.0, 68.0])
    (line,) = [
        one for one in compared_with_published(few_shot(records)).lines if one.values["where"] == "micse, Table 2"
    ]
    assert "corpus of 100,000 sentences, theirs 1,000,000" in line.cells[-1]
    assert line.values["agrees"] is None


def test_a_single_run_cannot_disagree() -> None:
    records = full(runs([10.0]))
    assert {line.values["agrees"] for line in compared_with_published(few_shot(records)).lines} == {None}


def test_single_tasks_and_unknown_averages() -> None:
    records = [
        one.model_copy(update={"subset": one.subset.__class__(size=10**6, fraction=1.0, sha256="5" * 64)})
        for one in runs([70.0, 71.0], "micse")
    ]
    found = compared_with_published(per_task(records))
    named = {line.values["tasks"] for line in found.lines}
    assert {"sts12@1", " ".join(STS)} <= named
    assert printed_name(STS) == "sts-avg"
    assert printed_name(STS[:2]) == ""
    strange = runs([1.0], "cls", encoder="nobody/knows")
    empty = compared_with_published(few_shot(strange))
    assert not empty.lines
    assert "No paper" in empty.notes[0]


def test_cells_are_marked_where_differences_under_the_same_seed_are_clear() -> None:
    good, near, bad = [70.0, 71.0, 72.0, 70.5, 71.5], [69.9, 71.2, 71.8, 70.6, 71.4], [60.0, 61.1, 62.0, 60.4, 61.5]
    records = [*runs(good, "simcse"), *runs(near, "micse"), *runs(bad, "msse")]
    table = few_shot(records, query=StudyQuery(mark="seeds"))
    assert {row.method: row.cells[0].best for row in table.rows} == {"simcse": True, "micse": True, "msse": False}
    assert "not significantly different from the best mean (paired by seed" in table.notes[0]
    few = few_shot([one for one in records if one.seed < 4], query=StudyQuery(mark="seeds"))
    assert {row.cells[0].best for row in few.rows} == {False}
    assert "not tested; a test takes 5 seeds" in few.notes[0]


def test_very_many_methods_are_not_compared() -> None:
    def many(count: int) -> list[Record]:
        noise = (0.0, 0.3, 0.1, 0.4, 0.2)
        return [
            record(f"m{place}", seed=seed, values=(50.0 * place + noise[(seed + place) % 5],) * 3)
            for place in range(count)
            for seed in range(5)
        ]

    for count, marked in ((2, True), (MOST + 1, False)):
        table = few_shot(many(count), query=StudyQuery(mark="seeds"))
        assert any(row.cells[0].best for row in table.rows) == marked
        assert table.notes[0].startswith("Significance: not tested, 40 methods") != marked
