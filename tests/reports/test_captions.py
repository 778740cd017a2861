"""Captions, notes and the signature: what a cell is, what is missing, and what a number may not be taken for."""

from dataclasses import replace
from pathlib import Path

import pytest

from cseb.analysis.study import StudyQuery
from cseb.records.store import Problem
from cseb.reports.layouts import few_shot, per_task
from tests.factory import grid, record, seeds, source
from tests.reports.readers import figures


def says(notes: tuple[str, ...], *words: str) -> bool:
    return any(all(word in note for word in words) for note in notes)


def test_the_caption_states_what_a_cell_is() -> None:
    table = few_shot(grid())
    assert table.caption == (
        "Mean ± sample standard deviation over 3 seeds; best checkpoint on stsb-dev; protocol simcse-sts@1."
    )
    assert says(table.notes, "Protocol: simcse-sts@1 on sts12@1, sts13@1, sickr@1; tasks are averaged within each seed")
    assert few_shot([record()]).caption.startswith("Scores of one seed;")
    more = [record("simcse", 100, seed) for seed in range(8)] + [record("micse", 100, seed) for seed in range(3)]
    assert few_shot(more).caption.startswith("Mean ± sample standard deviation over 3 to 8 seeds;")
    one = [record("simcse", 100, seed) for seed in range(3)] + [record("micse", 100, 0)]
    assert few_shot(one).caption.startswith("Scores of one seed, or mean ± sample standard deviation over n seeds;")


@pytest.mark.parametrize("dev", ["stsb-dev@1", "clinc150-dev@1", "banking77-dev@1"])  # pairs, queries, questions
def test_a_dev_set_has_items_because_not_every_one_has_pairs(dev: str) -> None:
    notes = few_shot(seeds(dev=dev)).notes
    assert says(notes, f"the dev set {dev} (1,500 labelled items)")
    assert not says(notes, "pairs")


def test_tasks_that_no_average_of_the_table_holds_are_named() -> None:
    tasks = ("sts12@1", "mr@1", "cr@1")
    runs = [record(tasks=tasks, measures={"mr@1": "accuracy@1", "cr@1": "accuracy@1"}, benchmark="b")]
    text = "Not shown, as they are scored by another protocol: mr, cr (accuracy@1). Choose them with --tasks."
    assert text in few_shot(runs).notes
    assert text not in few_shot(runs, (), StudyQuery(tasks=("sts12",))).notes
    assert not [note for note in per_task(runs).notes if note.startswith("Not shown")]


def test_what_went_wrong_stands_below() -> None:
    problems = [Problem(Path(f"/r/runs/{name}.json"), "not a record: EOF") for name in "abcdefg"]
    table = few_shot(grid(), problems)
    assert says(table.notes, "Excluded as unreadable: 7 files: a.json (not a record: EOF)", "and 2 more")
    assert says(table.notes, "Failed: simcse, 0.1 %, seed 1 (step 12: the loss is not finite)")
    assert says(table.notes, "Collapsed", "micse+paraphrase(file='50%_&_#1.txt') 100 (0.1 %)")
    assert says(table.notes, "Missing", "micse+paraphrase(file='50%_&_#1.txt') 1,000 (1 %) (seed 2)")
    assert says(table.notes, "Fewer than three seeds in 3 of 6 cells")
    assert says(few_shot([record(seed=seed, failed="boom") for seed in range(8)]).notes, "Failed: 3 more jobs")


def test_whoever_saw_more_than_the_subset_is_marked() -> None:
    table = few_shot(grid())
    assert [row.head.beyond for row in table.rows] == [False, True, False]
    assert says(table.notes, "†", "micse+paraphrase", "uses data beyond the subset: external")


def test_notes_warn_of_large_subsets_and_of_mixed_versions() -> None:
    assert says(few_shot(seeds(size=50_000)).notes, "At 50 %", "different seeds overlap")
    plain = few_shot(seeds()).notes
    assert not says(plain, "At ")
    assert not says(plain, "Run on several")


def test_a_table_of_several_libraries_of_linear_layers_says_so() -> None:
    def made(*libraries: str) -> tuple[str, ...]:
        records = [
            each.model_copy(update={"origin": replace(each.origin, linear=library)})
            for each, library in zip(seeds(len(libraries)), libraries, strict=True)
        ]
        return few_shot(records).notes

    assert says(made("blas", "onednn", "blas"), "Linear layers by several libraries", "blas; onednn")
    for alike in (("blas", "blas"), ("", "onednn"), ("", "")):  # records of before do not say
        assert not says(made(*alike), "Linear layers")


def test_the_short_footer_has_at_most_three_lines() -> None:
    problems = [Problem(Path("/r/runs/a.json"), "not a record: EOF")]
    short = few_shot(grid(), problems, StudyQuery(select="both")).in_short()
    assert short.caption.startswith("Mean ± sample standard deviation over 3 seeds; best checkpoint on stsb-dev")
    assert short.notes == ("† uses data beyond the subset.", "Excluded as unreadable: 1 file. More: --detail.")
    assert not short.signature


def test_what_does_not_vary_has_no_spread_and_no_number_of_seeds() -> None:
    (row,) = few_shot(seeds(values=(50.0, 60.0, 70.0))).rows
    assert (row.cells[0].n, row.cells[0].sd, figures(row.cells[0])) == (3, 0.0, "60.00")


def test_what_was_not_tested_is_not_called_equal() -> None:
    """Of few seeds it said that no method differed significantly, or marked methods twenty points below the best."""
    asked = StudyQuery(mark=True)
    for count in (1, 2, 4):
        stored = few_shot([record(method, seed=seed) for method in ("a", "b") for seed in range(count)], query=asked)
        assert not any(cell.best for row in stored.rows for cell in row.cells)
        assert "Significance: not tested; a test takes 5 seeds of each method" in stored.notes[0]


@pytest.mark.parametrize(
    ("best", "vary"),
    [
        ({seed: 90.0 + seed for seed in range(2)}, True),  # the best has two seeds
        ({seed: 90.0 + seed for seed in range(7, 12)}, True),  # no seed in common
        (dict.fromkeys(range(5), 90.0), False),  # untrained: the same difference in every seed
    ],
)
def test_where_the_best_method_was_not_tested_no_difference_is_denied(best: dict[int, float], vary: bool) -> None:
    """It said that no method differed significantly from one that was forty points better."""
    points = {"best": best, "low": {seed: 50.0 + seed % 2 * vary for seed in range(5)}}
    records = [
        record(method, seed=seed, values=(score,) * 3) for method in points for seed, score in points[method].items()
    ]
    (note, *_) = few_shot(records, query=StudyQuery(mark=True)).notes
    assert note.startswith("Significance: not tested; a test takes 5 seeds that a method and the best of its column")


def test_of_one_method_nothing_is_said_about_differences() -> None:
    asked = StudyQuery(mark=True)
    for count in (2, 5):
        alone, two = (
            few_shot([record(method, seed=seed) for method in methods for seed in range(count)], query=asked)
            for methods in (("a",), ("a", "b"))
        )
        assert not says(alone.notes, "Significance") and says(two.notes, "Significance")


def test_the_footer_of_a_single_seed_speaks_of_no_spread() -> None:
    """It spoke of a ± that stood nowhere."""
    first = few_shot([record(size=size) for size in (100, 50_000)])
    assert not first.spreads
    assert says(first.notes, "Fewer than three seeds in 2 of 2 cells: one seed has no ±.")
    two = few_shot(seeds()[:2]).notes
    assert says(two, "in 1 of 1 cell: ± is unreliable.")
    both = few_shot([*seeds()[:2], record(size=1000)]).notes
    assert says(both, "in 2 of 2 cells: ± is unreliable; a single seed has none.")


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
