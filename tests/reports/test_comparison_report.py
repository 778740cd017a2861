"""The page of comparisons: what it says, in words and in numbers, and what it refuses to say."""

import csv
import io
import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import ttest_ind

from cseb.analysis.paired import Sample, against, family
from cseb.analysis.study import StudyQuery, gather
from cseb.errors import BadResults
from cseb.reports.comparison import Subject, effects
from cseb.reports.comparison_report import ComparisonQuery, baseline_of, sheets
from cseb.reports.document import Sheet
from cseb.reports.formats import FORMATS, terminal
from cseb.reports.layouts import few_shot
from tests.worlds import study


def page(seeds: int = 5, effects: dict[str, float] | None = None, noise: float = 0.3, **wanted: object) -> list[Sheet]:
    sizes = wanted.pop("sizes", (100,))
    world, records = study(effects or {"simcse": 0, "good": 3, "same": 0.01}, sizes, seeds, noise=noise)
    query = ComparisonQuery(**({"baseline": "simcse", "select": "last"} | wanted))
    return sheets(gather(records), query, world.item_scores())


def row(sheet: Sheet, name: str) -> dict[str, str]:
    return next(dict(zip(sheet.heads, line.cells, strict=True)) for line in sheet.lines if line.cells[0] == name)


def test_every_comparison_has_its_scope_n_margin_and_family() -> None:
    [effects] = page(margin=1.0)
    assert row(effects, "good")["conclusion"] == "better (seeds and items)"
    assert row(effects, "good")["wins"] == "5/5"
    assert row(effects, "good")["seeds needed"] == "--"
    assert row(effects, "same")["conclusion"] == "equivalent (seeds and items)"
    notes = " ".join(effects.notes)
    assert "for seeds and items, n = 5, Holm over the 2 comparisons" in notes
    assert "margin of 1 point (TOST)" in notes and "use at least 6 seeds" in notes
    (clustered,) = [note for note in effects.notes if "are clustered" in note]
    assert "queries with an answer or intent in common" in clustered
    assert "clusters: one 100 of 200 (largest 1 %), two " in clustered


def test_unpaired_all_seeds_of_both_methods_are_used() -> None:
    world, records = study({"simcse": 0, "good": 3}, seeds=8, noise=0.3)
    kept = [record for record in records if record.method == "simcse" or record.seed < 5]
    query = ComparisonQuery(baseline="simcse", select="last", paired=False)
    [effects] = sheets(gather(kept), query, world.item_scores())
    cells = row(effects, "good")
    assert (cells["wins"], cells["conclusion"]) == ("--", "better (seeds and items)")
    assert (effects.lines[0].values["n"], effects.lines[0].values["n_baseline"]) == (5, 8)
    assert "all seeds of both methods" in effects.notes[0]
    paired = sheets(gather(kept), replace(query, paired=True), world.item_scores())
    floor = "With 5 seeds an exact test cannot reach p below 0.0625"  # a rank test of 5 and 8 seeds reaches 2 / 1287
    assert [any(note.startswith(floor) for note in sheet.notes) for sheet in (paired[0], effects)] == [True, False]
    assert any(note.startswith("Mean correlation of scores under equal seeds") for note in paired[0].notes)
    assert any("excluded from pairs: good 5-7." in note for note in paired[0].notes)
    assert effects.notes[-1].endswith("|cpu,1t,float32") and "|s0-7|" in effects.notes[-1]


def test_unpaired_seeds_needed_are_those_of_each_method() -> None:
    """It said 43: with 20 seeds of the baseline, as now, the test then detected the difference in 44 %, not 80 %."""
    noise = {count: np.arange(count) / np.std(np.arange(count), ddof=1) for count in (6, 20)}
    samples = [Sample("many", dict(enumerate(noise[20] - noise[20].mean())), {})]
    samples.append(Sample("few", dict(enumerate(noise[6] - noise[6].mean() + 0.5)), {}))
    [line] = effects(
        family(against("many", samples), paired=False), Subject(scores="", where="", baseline="many", values={})
    ).lines
    needed = int(str(line.values["seeds_needed"]).split()[1])
    rng = np.random.default_rng(0)
    p = ttest_ind(rng.standard_normal((5000, needed)), rng.standard_normal((5000, needed)) + 0.5, axis=1).pvalue
    assert np.mean(p < 0.05) == pytest.approx(0.8, abs=0.02)


def test_seeds_of_the_baseline_alone_are_not_missing_in_other_methods() -> None:
    _, records = study({"simcse": 0, "good": 3, "same": 0}, seeds=8)
    kept = [record for record in records if record.method == "simcse" or record.seed < 5]
    assert gather(kept).seeds == tuple(range(5))
    assert gather(kept, seeds=range(6)).seeds == tuple(range(6))  # planned, hence missing
    lost = [record for record in kept if (record.method, record.seed) != ("good", 4)]
    assert gather(lost).seeds == tuple(range(5))
    rows = {row.method: row.cells[0] for row in few_shot(lost, query=StudyQuery(select="last")).rows}
    assert {name: (cell.n, cell.missing, cell.further) for name, cell in rows.items()} == {
        "simcse": (8, 0, 3),
        "good": (4, 1, 0),
        "same": (5, 0, 0),
    }


def test_a_small_sure_difference_is_said_to_be_below_the_margin() -> None:
    [effects] = page(effects={"simcse": 0, "bit": 0.3}, noise=0.02, margin=1.0)
    assert row(effects, "bit")["conclusion"] == "better, by less than 1 (seeds and items)"


def test_fewer_than_five_seeds_give_intervals_and_nothing_more() -> None:
    [effects] = page(seeds=4)
    assert row(effects, "good")["p (Holm)"] == "--"
    assert row(effects, "good")["conclusion"] == "n = 4, intervals only"
    assert " to " in row(effects, "good")["seeds and items"]
    assert "intervals and no conclusion" in " ".join(effects.notes)
    assert "an exact test cannot reach p below 0.125; use at least 6 seeds" in " ".join(effects.notes)


def test_one_seed_is_a_comparison_of_checkpoints() -> None:
    [effects] = page(seeds=1)
    assert row(effects, "good")["seeds"] == row(effects, "good")["seeds and items"] == "--"
    assert " to " in row(effects, "good")["items"]
    assert row(effects, "good")["conclusion"] == "n = 1, intervals only"


def test_seeds_that_would_settle_it_or_none() -> None:
    [effects] = page(effects={"simcse": 0, "noisy": 1.0}, noise=1.5)
    cell = row(effects, "noisy")
    assert cell["conclusion"] == "inconclusive (seeds and items)"
    words = cell["seeds needed"].split()
    assert words[0] == "about"
    assert words[2] == "seeds"
    assert int(words[1]) > 5
    [effects] = page(effects={"simcse": 0, "noisy": 0.02}, noise=0.3, margin=0.1)
    assert row(effects, "noisy")["seeds needed"] == "more items"
    assert "the test sets are too small" in " ".join(effects.notes)


def test_all_pairs_and_curves() -> None:
    shown = page(baseline="", sizes=(100, 1000))
    assert [len(each.lines) for each in shown] == [3, 3, 3]
    assert "Holm over the 3 comparisons" in " ".join(shown[0].notes)
    assert "mean over the curve" in shown[-1].title
    assert len({note for sheet in shown for note in sheet.notes}) == sum(len(sheet.notes) for sheet in shown)


def test_a_missing_baseline_is_answered_with_what_there_is() -> None:
    with pytest.raises(BadResults, match="did you mean simcse"):
        page(baseline="simcs")
    with pytest.raises(BadResults, match="nothing can be compared"):
        page(effects={"simcse": 0})
    with pytest.raises(BadResults, match="no dev set"):
        page(select="best")
    _, records = study({"b": 0, "a": 1})
    assert (baseline_of(gather(records), ""), baseline_of(gather(records), "b")) == ("a", "b")


def test_missing_seeds_and_missing_items_are_said() -> None:
    world, records = study({"simcse": 0, "good": 3})
    del world.items[records[0].key]
    shown = sheets(gather(records[:-1]), ComparisonQuery(baseline="simcse", select="last"), world.item_scores())
    notes = " ".join(shown[0].notes)
    assert "excluded from pairs: good 4." in notes
    assert "Without an interval for new test examples, a conclusion holds for new seeds only: items/" in notes
    assert row(shown[0], "good")["items"] == "--"


def test_curves_of_methods_without_a_common_seed_at_one_size_are_compared_where_they_can_be() -> None:
    world, records = study({"simcse": 0, "good": 3, "same": 0.01}, (100, 1000), 4)
    other = {"simcse": (0, 1), "good": (2, 3), "same": (0, 1, 2, 3)}
    values = [record for record in records if record.subset.size == 100 or record.seed in other[record.method]]
    shown = sheets(gather(values), ComparisonQuery(baseline="simcse", select="last"), world.item_scores())
    curve = [each for each in shown if each.name == "effects"][-1]
    assert [line.cells[0] for line in curve.lines] == ["same"]
    notes = [note for sheet in shown for note in sheet.notes if note.startswith("Not compared")]
    assert notes[0] == "Not compared at 1 % of the corpus (1,000 sentences), no seed in common with simcse: good."


def test_a_method_without_scores_is_named() -> None:
    world, records = study({"simcse": 0, "good": 3, "gone": 1}, sizes=(100, 1000))
    kept = [record for record in records if (record.method, record.subset.size) != ("gone", 100)]
    shown = sheets(gather(kept), ComparisonQuery(baseline="simcse", select="last"), world.item_scores())
    [note] = [note for note in shown[0].notes if note.startswith("Not compared")]
    assert note == "Not compared at 0.1 % of the corpus (100 sentences), without scores: gone."
    assert [each.name for each in shown] == ["effects"] * 3


def test_every_format_holds_every_row() -> None:
    shown = page(effects={"simcse": 0, "micse+ami(layers=(7,8))": 1, "50%_&_#1|x": 2})
    for name, form in FORMATS.items():
        text = form.write([sheet.grid() for sheet in shown])
        assert "micse+ami(layers=(7,8))" in text
        if name == "csv":
            rows = list(csv.DictReader(io.StringIO(text)))
            assert [row["sheet"] for row in rows] == ["effects"] * 2
            assert float(rows[0]["mean"]) == shown[0].lines[0].values["mean"]
        if name == "json":
            content = json.loads(text)
            assert content[0]["rows"][0]["n"] == 5
        if name == "latex":
            assert r"50\%\_\&\_\#1" in text
            assert text.count(r"\begin{table}") == text.count(r"\end{table}") == 1
        if name == "markdown":
            assert r"`50%_&_#1\|x`" in text
    again = page(effects={"simcse": 0, "micse+ami(layers=(7,8))": 1, "50%_&_#1|x": 2})
    assert form.write([sheet.grid() for sheet in shown]) == form.write([sheet.grid() for sheet in again])


def test_a_narrow_screen_gets_a_list_and_cuts_no_number() -> None:
    shown = page()
    wide, narrow = (terminal.write([sheet.grid() for sheet in shown], width) for width in (200, 60))
    assert max(map(len, narrow.splitlines()[4:])) <= 110
    for line in shown[0].lines:
        for cell in line.cells[1:7]:
            assert cell in wide
            assert cell in narrow


def twins(seeds: int, *, items: bool) -> list[Sheet]:
    """simcse, a method that is better, and one that does what simcse does under another name."""
    world, records = study({"simcse": 0, "good": 3}, seeds=seeds, noise=0.3)
    for record in records:
        if record.method == "simcse":
            twin = record.model_copy(update={"method": "twin", "key": record.key[::-1]})
            records = [*records, twin]
            world.items[twin.key] = world.items[record.key]
    if not items:
        world.items.clear()
    return sheets(gather(records), ComparisonQuery(baseline="simcse", select="last"), world.item_scores())


@pytest.mark.parametrize("items", [True, False])
def test_identical_methods_stay_in_their_family_with_an_interval(items: bool) -> None:
    [effects] = twins(5, items=items)
    cells = row(effects, "twin")
    assert cells["conclusion"] == "identical in all 5 seeds"
    assert (cells["difference"], cells["seeds"], cells["p (Holm)"]) == ("+0.00", "0.00 to 0.00", "1.000")
    assert cells["seeds and items"] == ("0.00 to 0.00" if items else "--")
    assert "Holm over the 2 comparisons" in " ".join(effects.notes)
    assert "two names for the same computation" in " ".join(effects.notes)
    assert {line.values["tests"] for line in effects.lines} == {2}
    assert json.loads(FORMATS["json"].write([effects.grid()]))[0]["rows"][1]["conclusion"] == "identical"


def test_one_seed_without_items_has_no_interval_and_does_not_say_so() -> None:
    [effects] = twins(1, items=False)
    for name in ("good", "twin"):
        assert row(effects, name)["conclusion"] == "n = 1, no interval"
    notes = " ".join(effects.notes)
    assert "there are intervals" not in notes
    assert "A single seed has no interval for new seeds and no conclusion." in notes


def test_a_difference_that_no_seed_moves_is_not_called_an_interval() -> None:
    world, records = study({"simcse": 0, "good": 3}, seeds=5, noise=0.0)
    records = [
        record.model_copy(
            update={"scores": tuple(replace(s, value=50.0 + (record.method == "good")) for s in record.scores)}
        )
        for record in records
    ]
    world.items.clear()
    [effects] = sheets(gather(records), ComparisonQuery(baseline="simcse", select="last"), world.item_scores())
    assert row(effects, "good")["conclusion"] == "n = 5, the same difference in every seed, no test"
    assert "has no variance and cannot be tested" in " ".join(effects.notes)
