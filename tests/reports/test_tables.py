"""Tables of scores: which rows and columns there are, in which order, and what their cells hold."""

import pytest

from cseb.analysis.paired import MOST
from cseb.analysis.stats import cell
from cseb.analysis.study import StudyQuery
from cseb.errors import BadResults
from cseb.reports.layouts import few_shot, per_task
from tests.factory import TASKS, grid, record, seeds, source
from tests.reports.test_captions import says


def test_rows_are_methods_and_columns_are_sizes() -> None:
    table = few_shot(grid())
    assert [row.method for row in table.rows] == sorted({record.method for record in grid()})
    assert [column.title for column in table.columns] == ["100 (0.1 %)", "1,000 (1 %)"]
    for row in table.rows:
        for column, each in zip(table.columns, row.cells, strict=True):
            own = [record for record in grid() if (record.method, record.subset.size) == (row.method, column.size)]
            runs = {record.seed: record for record in own}
            assert each == cell(runs, (0, 1, 2), TASKS, "best")


def test_rows_follow_a_given_order_and_planned_ones_are_missing() -> None:
    table = few_shot(seeds(), query=StudyQuery(order=("msse", "simcse"), seeds=tuple(range(5))))
    assert [row.method for row in table.rows] == ["msse", "simcse"]
    assert [(row.cells[0].n, row.cells[0].missing) for row in table.rows] == [(0, 5), (3, 2)]
    assert says(table.notes, "Missing", "msse 100 (0.1 %) (seed 0-4)", "simcse 100 (0.1 %) (seed 3-4)")


def test_rows_go_by_benchmark_and_name_without_an_order() -> None:
    table = few_shot([record("b"), record("c", benchmark="ablation"), record("a")])
    assert [row.method for row in table.rows] == ["c", "a", "b"]


def test_both_checkpoints_side_by_side() -> None:
    table = few_shot(seeds(values=(60.0, 60.0, 60.0), last=(50.0, 50.0, 50.0)), query=StudyQuery(select="both"))
    assert [(column.title, each.mean) for column, each in zip(table.columns, table.rows[0].cells, strict=True)] == [
        ("100 (0.1 %) best", 60.0),
        ("100 (0.1 %) last", 50.0),
    ]
    assert says(table.notes, "stsb-dev (1,500 labelled items)")
    assert says(table.notes, "no labels are used")


def test_without_a_dev_set_there_is_no_best() -> None:
    assert few_shot(seeds(dev=""), query=StudyQuery(select="last")).rows[0].cells[0].n == 3
    with pytest.raises(BadResults, match="show the last one"):
        few_shot(seeds(dev=""))


def test_tasks_have_columns_and_an_average() -> None:
    table = per_task(grid(), query=StudyQuery(fractions=(0.01,)))
    assert [column.title for column in table.columns] == ["sts12", "sts13", "sickr", "average"]
    assert [cell.mean for cell in table.rows[2].cells] == pytest.approx([52.3, 62.6, 72.9, 62.6])
    with pytest.raises(BadResults, match=r"no record has the fraction 0\.5; known: 0\.001, 0\.01"):
        per_task(grid(), query=StudyQuery(fractions=(0.5,)))


def test_a_task_that_is_named_twice_counts_once() -> None:
    asked = StudyQuery(tasks=("sts12@1", "sts13", "sts12"))
    assert few_shot(seeds(values=(50.0, 80.0, 60.0)), query=asked).rows[0].cells[0].mean == 65.0


def test_two_protocols_are_never_averaged() -> None:
    tasks = ("sts12@1", "mr@1", "sts13@1", "cr@1")
    measures = {"mr@1": "senteval-transfer@1", "cr@1": "senteval-transfer@1"}
    records = seeds(tasks=tasks, values=(50.0, 80.0, 60.0, 90.0), measures=measures)
    assert few_shot(records).rows[0].cells[0].mean == 55.0
    assert few_shot(records, query=StudyQuery(tasks=("mr@1", "cr@1"))).rows[0].cells[0].mean == 85.0
    with pytest.raises(BadResults, match="must not be averaged"):
        few_shot(records, query=StudyQuery(tasks=("sts12@1", "mr@1")))
    with pytest.raises(BadResults, match=r"'mx'; known: cr, mr"):
        few_shot(records, query=StudyQuery(tasks=("mx",)))
    titles = [column.title for column in per_task(records, query=StudyQuery(fractions=(0.001,))).columns]
    assert titles == ["sts12", "sts13", "average simcse-sts@1", "mr", "cr", "average senteval-transfer@1"]


def test_rows_can_be_encoders() -> None:
    records = [
        record(encoder=name, seed=seed, values=(v,) * 3)
        for name, v in (("a/bert", 1.0), ("b/bert", 2.0), ("x", 3.0))
        for seed in (0, 1)
    ]
    table = few_shot(records, query=StudyQuery(encoders=True))
    names = [f"bert@{source('a/bert').sha256[:4]}", f"bert@{source('b/bert').sha256[:4]}", "x"]
    assert {row.head.title: row.cells[0].mean for row in table.rows} == dict(zip(names, (1.0, 2.0, 3.0), strict=True))
    assert table.stub == "encoder"
    pooled = few_shot([*records, record("mean", encoder="x", resolved="mean()@1")], query=StudyQuery(encoders=True))
    assert {"x simcse", "x mean"} <= {row.head.title for row in pooled.rows}


def test_cells_name_the_records_behind_them() -> None:
    cells = {key for row in few_shot(grid()).rows for cell in row.cells for key in cell.keys.values()}
    assert cells == {record.key for record in grid()}


def test_marks_are_the_best_methods_of_a_column() -> None:
    records = [
        record(method, size, seed, values=(points * (1 + seed / 100),) * 3)
        for method, points in (("a", 50.0), ("b", 60.0))
        for size in (100, 1000)
        for seed in range(5)
        if size == 100 or seed < 2
    ]
    table = few_shot(records, query=StudyQuery(mark=True))
    assert [[cell.best for cell in row.cells] for row in table.rows] == [[False, None], [True, None]]
    assert "not significantly different from the best mean" in table.notes[0]
    assert [cell.best for row in few_shot(grid()).rows for cell in row.cells] == [None] * 6


def test_nothing_is_marked_where_all_methods_with_scores_are_alike() -> None:
    """`c` has no scores with 100 sentences, so `a` and `b` are all there is."""
    noise = (0.0, 0.3, 0.1, 0.4, 0.2)
    points = [("a", 100, 50.0), ("b", 100, 50.0), ("a", 1000, 50.0), ("b", 1000, 50.0), ("c", 1000, 90.0)]
    records = [
        record(method, size, seed, values=(score + noise[(seed + ord(method)) % 5],) * 3)
        for method, size, score in points
        for seed in range(5)
    ]
    table = few_shot(records, query=StudyQuery(mark=True))
    marks = {row.method: [bool(cell.best) for cell in row.cells] for row in table.rows}
    assert marks == {"a": [False, False], "b": [False, False], "c": [False, True]}


@pytest.mark.parametrize(("count", "marked"), [(2, True), (MOST + 1, False)])
def test_very_many_methods_are_not_compared(count: int, marked: bool) -> None:
    noise = (0.0, 0.3, 0.1, 0.4, 0.2)
    records = [
        record(f"m{place}", seed=seed, values=(50.0 * place + noise[(seed + place) % 5],) * 3)
        for place in range(count)
        for seed in range(5)
    ]
    table = few_shot(records, query=StudyQuery(mark=True))
    assert any(row.cells[0].best for row in table.rows) == marked
    assert table.notes[0].startswith("Significance: not tested, 40 methods") != marked
