from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from cseb.analysis.comparable import groups
from cseb.analysis.query import StudyQuery
from cseb.analysis.significance import by_seeds
from cseb.analysis.stats import cell
from cseb.analysis.study import Study
from cseb.errors import BadResults
from cseb.records.record import Record, Select
from cseb.records.record_file import Problem
from cseb.reports.layouts import few_shot, per_task
from cseb.reports.tables import Table
from tests.factory import TASKS, grid, record, source


def seeds(count: int = 3, **options: object) -> list[Record]:
    return [record(seed=seed, **options) for seed in range(count)]  # type: ignore[arg-type]


def says(notes: tuple[str, ...], *words: str) -> bool:
    return any(all(word in note for word in words) for note in notes)


def test_rows_are_methods_and_columns_are_sizes() -> None:
    table = few_shot(grid())
    assert [row.method for row in table.rows] == sorted({one.method for one in grid()})
    assert [column.title for column in table.columns] == ["0.1 % (100)", "1 % (1,000)"]
    for row in table.rows:
        for column, found in zip(table.columns, row.cells, strict=True):
            runs = {one.seed: one for one in grid() if (one.method, one.subset.size) == (row.method, column.size)}
            assert found == cell(runs, (0, 1, 2), TASKS, "best")


def test_rows_follow_a_given_order_and_planned_ones_are_missing() -> None:
    table = few_shot(seeds(), ask=StudyQuery(order=("msse", "simcse"), seeds=tuple(range(5))))
    assert [row.method for row in table.rows] == ["msse", "simcse"]
    assert [(row.cells[0].n, row.cells[0].missing) for row in table.rows] == [(0, 5), (3, 2)]
    assert says(table.notes, "Missing", "msse 0.1 % (100) (seed 0-4)", "simcse 0.1 % (100) (seed 3-4)")


def test_rows_go_by_benchmark_and_name_without_an_order() -> None:
    table = few_shot([record("b"), record("c", benchmark="ablation"), record("a")])
    assert [row.method for row in table.rows] == ["c", "a", "b"]


def test_both_checkpoints_side_by_side() -> None:
    table = few_shot(seeds(values=(60.0, 60.0, 60.0), last=(50.0, 50.0, 50.0)), ask=StudyQuery(select="both"))
    assert [(column.title, found.mean) for column, found in zip(table.columns, table.rows[0].cells, strict=True)] == [
        ("0.1 % (100) best", 60.0),
        ("0.1 % (100) last", 50.0),
    ]
    assert "stsb-dev (1,500 labelled items)" in table.caption
    assert "no labels are used" in table.caption


@pytest.mark.parametrize("dev", ["stsb-dev@1", "clinc150-dev@1", "banking77-dev@1"])  # pairs, queries, questions
def test_what_chose_the_checkpoint_is_called_items_because_not_every_dev_set_has_pairs(dev: str) -> None:
    caption = few_shot(seeds(dev=dev)).caption
    assert f"the dev set {dev} (1,500 labelled items)" in caption
    assert "pairs" not in caption


def test_without_a_dev_set_there_is_no_best() -> None:
    assert few_shot(seeds(dev=""), ask=StudyQuery(select="last")).rows[0].cells[0].n == 3
    with pytest.raises(BadResults, match="show the last one"):
        few_shot(seeds(dev=""))


def test_tasks_have_columns_and_an_average() -> None:
    table = per_task(grid(), ask=StudyQuery(fractions=(0.01,)))
    assert [column.title for column in table.columns] == ["sts12", "sts13", "sickr", "average"]
    assert [found.mean for found in table.rows[2].cells] == pytest.approx([52.3, 62.6, 72.9, 62.6])
    with pytest.raises(BadResults, match=r"no record has the fraction 0\.5; known: 0\.001, 0\.01"):
        per_task(grid(), ask=StudyQuery(fractions=(0.5,)))


def test_a_task_that_is_named_twice_counts_once() -> None:
    asked = StudyQuery(tasks=("sts12@1", "sts13", "sts12"))
    assert few_shot(seeds(values=(50.0, 80.0, 60.0)), ask=asked).rows[0].cells[0].mean == 65.0


def test_two_protocols_are_never_averaged() -> None:
    tasks = ("sts12@1", "mr@1", "sts13@1", "cr@1")
    measures = {"mr@1": "senteval-transfer@1", "cr@1": "senteval-transfer@1"}
    records = seeds(tasks=tasks, values=(50.0, 80.0, 60.0, 90.0), measures=measures)
    assert few_shot(records).rows[0].cells[0].mean == 55.0
    assert few_shot(records, ask=StudyQuery(tasks=("mr@1", "cr@1"))).rows[0].cells[0].mean == 85.0
    with pytest.raises(BadResults, match="must not be averaged"):
        few_shot(records, ask=StudyQuery(tasks=("sts12@1", "mr@1")))
    with pytest.raises(BadResults, match=r"'mx'; known: cr, mr"):
        few_shot(records, ask=StudyQuery(tasks=("mx",)))
    titles = [column.title for column in per_task(records, ask=StudyQuery(fractions=(0.001,))).columns]
    assert titles == ["sts12", "sts13", "average simcse-sts@1", "mr", "cr", "average senteval-transfer@1"]


def test_tasks_that_no_average_of_the_table_holds_are_named() -> None:
    tasks = ("sts12@1", "mr@1", "cr@1")
    runs = [record(tasks=tasks, measures={"mr@1": "accuracy@1", "cr@1": "accuracy@1"}, benchmark="b")]
    said = "Not shown, as they are scored by another protocol: mr, cr (accuracy@1). Choose them with --tasks."
    assert said in few_shot(runs).notes
    assert said not in few_shot(runs, (), StudyQuery(tasks=("sts12",))).notes
    assert not [note for note in per_task(runs).notes if note.startswith("Not shown")]


@pytest.mark.parametrize(
    ("other", "what"),
    [
        ({"encoder": "roberta"}, r"differ in encoder: bert@\w{8} / roberta@\w{8}"),
        ({"corpus": "nli"}, "differ in corpus: nli"),
        ({"tasks": ("sts12@1",)}, "differ in tasks: sts12@1 / sts12@1, sts13@1, sickr@1"),
        ({"dev": "sickr-dev"}, "differ in dev set: sickr-dev / stsb-dev"),
        ({"device": "cuda"}, "differ in device: cpu / cuda.* --mixed"),
        ({"torch": "2.8.0"}, r"differ in version of torch: 2\.7\.0 / 2\.8\.0"),
        ({"measures": {"sts12@1": "mteb-sts@1"}}, "how sts12@1 is scored: simcse-sts@1 / mteb-sts@1"),
        ({"resolved": "recipe(steps=9, dropout='model')@1"}, r"different options: .*steps=60 / steps=9"),
    ],
)
def test_what_cannot_be_compared_is_refused(other: dict[str, object], what: str) -> None:
    with pytest.raises(BadResults, match=what):
        few_shot([record(seed=0), record(seed=1, **other)])  # type: ignore[arg-type]


def test_options_may_differ_between_sizes_and_methods() -> None:
    records = [record(size=100), record(size=1000, resolved="cls()@1"), record("micse", resolved="mean()@1")]
    assert len(few_shot(records).rows) == 2


def test_one_seed_counts_once() -> None:
    twin = record().model_copy(update={"key": "0" * 16})
    with pytest.raises(BadResults, match=f"seed 0, has two records: {record().key}.json and {'0' * 16}.json"):
        few_shot([record(), twin])


def test_the_name_of_a_folder_does_not_make_another_encoder() -> None:
    moved = record(seed=1).model_copy(update={"encoder": replace(source("bert"), name="/data/bert")})
    assert few_shot([record(), moved]).rows[0].cells[0].n == 2


def test_groups_can_each_be_a_table() -> None:
    records = [record(encoder=name, seed=seed) for seed in range(2) for name in ("roberta", "bert")]
    assert [[one.encoder.name for one in group] for group in groups(records)] == [["bert"] * 2, ["roberta"] * 2]


def test_stale_records_are_left_out_and_counted() -> None:
    old = seeds(resolved="cls()@7")
    table = few_shot([*seeds(), *old])
    assert table.rows[0].cells[0].n == 3
    assert says(table.notes, "out of date", "3 records made with cls@7, now cls@1")
    with pytest.raises(BadResults, match="all 3 are stale"):
        few_shot(old)
    with pytest.raises(BadResults, match="no record to show: run a benchmark first"):
        few_shot([])


def test_what_went_wrong_stands_below() -> None:
    problems = [Problem(Path(f"/r/runs/{name}.json"), "not a record: EOF") for name in "abcdefg"]
    table = few_shot(grid(), problems)
    assert says(table.notes, "Excluded as unreadable: 7 files: a.json (not a record: EOF)", "and 2 more")
    assert says(table.notes, "Failed: simcse, 0.1 %, seed 1 (step 12: the loss is not finite)")
    assert says(table.notes, "Collapsed", "micse+paraphrase(file='50%_&_#1.txt') 0.1 % (100)")
    assert says(table.notes, "Missing", "micse+paraphrase(file='50%_&_#1.txt') 1 % (1,000) (seed 2)")
    assert says(table.notes, "Fewer than three seeds in 3 of 6 cells")
    assert says(few_shot([record(seed=seed, failed="boom") for seed in range(8)]).notes, "Failed: 3 more jobs")


def test_whoever_saw_more_than_the_subset_is_marked() -> None:
    table = few_shot(grid())
    assert [row.head.beyond for row in table.rows] == [False, True, False]
    assert says(table.notes, "†", "micse+paraphrase", "uses data beyond the subset: external")


def test_the_caption_says_what_a_cell_is() -> None:
    caption = few_shot(grid()).caption
    assert "sample standard deviation over n = 3 seeds (0-2)" in caption
    assert "simcse-sts@1 on sts12@1, sts13@1, sickr@1" in caption
    assert few_shot(grid(), ask=StudyQuery(spread="ci95")).caption.startswith(
        "Mean ± half the width of the 95 % confidence interval"
    )
    assert few_shot(grid(), ask=StudyQuery(spread="range")).caption.startswith("Mean [minimum, maximum over seeds]")
    assert "so no spread is given" in few_shot([record()]).caption


def test_notes_warn_of_the_microworld_of_large_subsets_and_of_mixed_versions() -> None:
    assert says(few_shot(seeds(corpus="microworld")).notes, "Microworld", "say nothing about real text")
    assert says(few_shot(seeds(size=50_000)).notes, "At 50 %", "different seeds overlap")
    plain = few_shot(seeds()).notes
    assert not says(plain, "Microworld")
    assert not says(plain, "At ")
    assert not says(plain, "Run on several")


def test_a_table_of_several_libraries_of_linear_layers_says_so() -> None:
    def made(*libraries: str) -> tuple[str, ...]:
        records = [
            one.model_copy(update={"origin": replace(one.origin, linear=library)})
            for one, library in zip(seeds(len(libraries)), libraries, strict=True)
        ]
        return few_shot(records).notes

    assert says(made("blas", "onednn", "blas"), "Linear layers by several libraries", "blas; onednn")
    for alike in (("blas", "blas"), ("", "onednn"), ("", "")):  # records of before do not say
        assert not says(made(*alike), "Linear layers")


def test_the_signature_is_one_line_that_moves_with_its_parts() -> None:
    line = few_shot([record(seed=seed) for seed in (0, 1, 2, 5)]).signature
    head, methods, *rest = line.split("|")
    assert head == "cseb:0.1.0"
    assert methods.startswith("methods@")
    assert rest == [
        f"bert@{source('bert').sha256[:4]}",
        f"wiki@{source('wiki').sha256[:4]}",
        "f0.001",
        "s0-2,5",
        "sts12@1,sts13@1,sickr@1",
        "simcse-sts@1",
        "best:stsb-dev",
        "cpu,1t,float32",
    ]
    assert few_shot(seeds(resolved="cls()@1")).signature.split("|")[1] != methods


def test_what_may_differ_is_mixed_on_request_and_said() -> None:
    records = [record(), record(seed=1, torch="2.8.0", device="cuda")]
    table = few_shot(records, ask=StudyQuery(mixed=True))
    assert table.rows[0].cells[0].n == 2
    assert says(table.notes, "Mixed (--mixed): device: cpu / cuda", "version of torch: 2.7.0 / 2.8.0")
    with pytest.raises(BadResults, match="differ in encoder"):
        few_shot([record(), record(seed=1, encoder="roberta")], ask=StudyQuery(mixed=True))


def test_of_two_records_for_one_job_the_later_counts_on_request() -> None:
    old = record(values=(1.0, 1.0, 1.0))
    new = record(values=(9.0, 9.0, 9.0)).model_copy(update={"key": "0" * 16})
    new = new.model_copy(update={"origin": replace(new.origin, finished="2026-01-02T00:00:00Z")})
    for records in ([old, new], [new, old]):
        table = few_shot(records, ask=StudyQuery(mixed=True))
        assert table.rows[0].cells[0].values == {0: 9.0}
        assert says(table.notes, "1 older record of jobs")


def test_rows_and_columns_are_chosen_and_ordered() -> None:
    shown = few_shot(grid(), ask=StudyQuery(methods=("simcse", "first_last+recipe(steps=0)"), sizes=(1000, 100)))
    assert [row.method for row in shown.rows] == ["simcse", "first_last+recipe(steps=0)"]
    assert [column.size for column in shown.columns] == [1000, 100]
    chosen = per_task(grid(), ask=StudyQuery(fractions=(0.01,), tasks=("sickr", "sts12")))
    assert [column.title for column in chosen.columns] == ["sickr", "sts12", "average"]
    assert chosen.rows[2].cells[2].mean == pytest.approx((52.3 + 72.9) / 2)
    for wrong, what in (
        (StudyQuery(methods=("micse",)), "no record is of the method 'micse'"),
        (StudyQuery(fractions=(0.5,)), r"no record has the fraction 0\.5; known: 0\.001, 0\.01"),
        (StudyQuery(sizes=(7,)), "no record has the size 7; known: 100, 1000"),
    ):
        with pytest.raises(BadResults, match=what):
            few_shot(grid(), ask=wrong)


@pytest.mark.parametrize(
    ("made", "by", "across"), [(few_shot, "fraction", {}), (per_task, "task", {"fractions": (0.01,)})]
)
def test_a_table_can_be_turned(made: Callable[..., Table], by: str, across: dict[str, tuple[float]]) -> None:
    upright, turned = made(grid(), ask=StudyQuery(**across)), made(grid(), ask=StudyQuery(by=by, **across))
    assert [row.head.title for row in turned.rows] == [column.title for column in upright.columns]
    assert turned.stub == by
    for row in range(len(upright.rows)):
        for column in range(len(upright.columns)):
            assert turned.rows[column].cells[row] == upright.rows[row].cells[column]
            place = turned.place(turned.rows[column], turned.columns[row])
            assert replace(place, title="") == replace(
                upright.place(upright.rows[row], upright.columns[column]), title=""
            )


def test_shares_by_tasks_of_one_method() -> None:
    table = per_task(grid(), ask=StudyQuery(by="fraction", methods=("simcse",)))
    assert [row.head.title for row in table.rows] == ["0.1 % (100)", "1 % (1,000)"]
    assert table.rows[1].cells[0] == per_task(grid(), ask=StudyQuery(fractions=(0.01,))).rows[2].cells[0]
    with pytest.raises(BadResults, match="shows one method, the records have 3"):
        per_task(grid(), ask=StudyQuery(by="fraction"))


def test_rows_can_be_encoders() -> None:
    records = [
        record(encoder=name, seed=seed, values=(v,) * 3)
        for name, v in (("a/bert", 1.0), ("b/bert", 2.0), ("x", 3.0))
        for seed in (0, 1)
    ]
    table = few_shot(records, ask=StudyQuery(by="encoder"))
    names = [f"bert@{source('a/bert').sha256[:4]}", f"bert@{source('b/bert').sha256[:4]}", "x"]
    assert {row.head.title: row.cells[0].mean for row in table.rows} == dict(zip(names, (1.0, 2.0, 3.0), strict=True))
    assert table.stub == "encoder"
    pooled = few_shot([*records, record("mean", encoder="x", resolved="mean()@1")], ask=StudyQuery(by="encoder"))
    assert {"x simcse", "x mean"} <= {row.head.title for row in pooled.rows}


def test_cells_name_the_records_behind_them() -> None:
    cells = {key for row in few_shot(grid()).rows for found in row.cells for key in found.keys.values()}
    assert cells == {one.key for one in grid()}


def best_two(study: Study, size: int, tasks: tuple[str, ...], select: Select) -> list[str]:
    return sorted(study.methods)[:2] if size == 100 else list(study.methods)


def test_marks_are_those_of_whoever_is_asked() -> None:
    table = few_shot(grid(), ask=StudyQuery(best=best_two))
    assert [[found.best for found in row.cells] for row in table.rows] == [[True, False], [True, False], [False, False]]
    assert "not significantly different from it" in table.caption
    assert [found.best for row in few_shot(grid()).rows for found in row.cells] == [None] * 6


def test_what_was_not_tested_is_not_called_equal() -> None:
    """Of few seeds it said that no method differed significantly, or marked methods twenty points below the best."""
    asked = StudyQuery(best=by_seeds(), claim="paired by seed")
    for count in (1, 2, 4):
        held = few_shot([record(method, seed=seed) for method in ("a", "b") for seed in range(count)], ask=asked)
        assert not any(found.best for row in held.rows for found in row.cells)
        assert "Significance: not tested; a test takes 5 seeds of each method" in held.caption
        assert "differs significantly" not in held.caption


def test_the_footer_of_a_single_seed_speaks_of_no_spread() -> None:
    """It spoke of a ± that stood nowhere."""
    one = few_shot([record(size=size) for size in (100, 50_000)])
    assert not one.spreads
    assert says(one.notes, "Fewer than three seeds in 2 of 2 cells: one seed has no ±.")
    assert not says(one.notes, "says little")
    assert not says(one.notes, "holds less of their choice")
    two = few_shot(seeds()[:2]).notes
    assert says(two, "in 1 of 1 cell: ± is unreliable.")
    both = few_shot([*seeds()[:2], record(size=1000)]).notes
    assert says(both, "in 2 of 2 cells: ± is unreliable; a single seed has none.")
