"""Our numbers beside published ones, by hand."""

from collections.abc import Sequence

import numpy as np
import pytest
from scipy import stats

from cseb.papers.published_comparison import agrees, compared_with_published
from cseb.papers.scores import Printed, printed_name
from cseb.records.record import Record
from cseb.reports.layouts import few_shot, per_task
from tests.factory import record

STS = tuple(f"{task}@1" for task in ("sts12", "sts13", "sts14", "sts15", "sts16", "stsb", "sickr"))


def runs(points: Sequence[float], method: str = "simcse", **options: object) -> list[Record]:
    settings = {"encoder": "org/bert-base-uncased", "tasks": STS, "size": 100, **options}
    return [record(method, seed=seed, values=(value,) * 7, **settings) for seed, value in enumerate(points)]


def full(records: list[Record]) -> list[Record]:
    """As if a hundred sentences were a thousandth of what the papers have."""
    wiki = {"subset": records[0].subset.__class__(size=1000, fraction=0.001, sha256="5" * 64)}
    return [record.model_copy(update=wiki) for record in records]


def test_one_published_run_has_a_prediction_interval_and_several_have_welchs_test() -> None:
    values = [70.0, 71.0, 73.0, 74.0, 72.0]
    reach = stats.t.isf(0.025, 4) * np.sqrt(2.5 * 1.2)
    for mean, expected in ((72 - reach + 0.01, True), (72 - reach - 0.01, False)):
        assert agrees(values, Printed(method="m", task="t", mean=mean, text="", line=1)) is expected
    for theirs in ([75.0, 75.5, 74.0, 76.0], [71.0, 72.0, 73.0, 74.5]):
        row = Printed(
            method="m", task="t", mean=np.mean(theirs), std=np.std(theirs, ddof=1), n_seeds=4, text="", line=1
        )
        assert agrees(values, row) == (stats.ttest_ind(values, theirs, equal_var=False).pvalue > 0.05)


def test_a_cell_stands_beside_what_the_papers_print() -> None:
    records = full(runs([67.0, 68.0, 69.0]))
    results = [
        line for line in compared_with_published(few_shot(records)).lines if line.values["where"] == "micse, Table 2"
    ]
    (line,) = results
    assert line.cells[:3] == ("simcse 1,000 (0.1 %)", "68.00 ± 1.00 (n=3)", "67.94 ± 1.16 (n=5)")
    assert line.cells[3:5] == ("micse, Table 2", "+0.06")
    assert line.values["difference"] == pytest.approx(0.06)
    assert (line.values["in_their_spread"], line.values["agrees"]) == (True, True)
    far = full(runs([77.0, 78.0, 79.0]))
    (line,) = [
        line for line in compared_with_published(few_shot(far)).lines if line.values["where"] == "micse, Table 2"
    ]
    assert (line.values["in_their_spread"], line.values["agrees"]) == (False, False)


def test_what_was_measured_otherwise_does_not_compare() -> None:
    records = runs([67.0, 68.0])
    (line,) = [
        line for line in compared_with_published(few_shot(records)).lines if line.values["where"] == "micse, Table 2"
    ]
    assert "corpus of 100,000 sentences, theirs 1,000,000" in line.cells[-1]
    assert line.values["agrees"] is None


def test_single_tasks_and_unknown_averages() -> None:
    records = [
        each.model_copy(update={"subset": each.subset.__class__(size=10**6, fraction=1.0, sha256="5" * 64)})
        for each in runs([70.0, 71.0], "micse")
    ]
    result = compared_with_published(per_task(records))
    named = {line.values["tasks"] for line in result.lines}
    assert {"sts12@1", " ".join(STS)} <= named
    assert printed_name(STS) == "sts-avg"
    assert printed_name(STS[:2]) == ""
    strange = runs([1.0], "cls", encoder="nobody/knows")
    empty = compared_with_published(few_shot(strange))
    assert not empty.lines
    assert "No paper" in empty.notes[0]
