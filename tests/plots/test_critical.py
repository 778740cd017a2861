"""The critical-difference diagram: drawn over corpora, refused over anything else."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("matplotlib", reason="the extra `plots` is not installed")

from cseb.analysis.corpus_blocks import blocks
from cseb.analysis.query import StudyQuery
from cseb.errors import BadResults
from cseb.plots.critical import diagram
from cseb.records.record import Record
from cseb.records.store import Store
from tests.command_line import call
from tests.factory import grid, record
from tests.stderr_lines import without_progress

EFFECTS = {"simcse": 0.0, "micse": 0.0, "msse": 4.0}


def runs(corpora: int = 10) -> list[Record]:
    """Three methods on so many corpora, two seeds; simcse and micse are better in turn, msse is best everywhere."""
    made = []
    for corpus in range(corpora):
        for method, effect in EFFECTS.items():
            turn = (corpus % 2) * (method == "micse") + 0.01 * corpus * (method == "simcse") + 0.5
            points = [50 + corpus + effect + turn] * 3
            made += [record(method, seed=seed, corpus=f"c{corpus}", values=points) for seed in range(2)]
    return made


def test_ranks_and_bars_are_those_of_the_blocks() -> None:
    found = blocks(runs(), StudyQuery(), "best")
    assert found.methods == ("micse", "msse", "simcse")
    assert found.scores.shape == (3, 10)
    drawn = diagram(found)
    (axes,) = drawn.figure.axes
    texts = {text.get_text() for text in axes.texts}
    assert {"msse (1.00)", "1", "2", "3"} <= texts
    [bar] = [line for line in axes.get_lines() if line.get_marker() == "o"]
    ranks = {text.split()[0]: float(text.split("(")[1][:-1]) for text in texts if "(" in text}
    assert sorted(bar.get_xdata()) == pytest.approx(sorted((ranks["simcse"], ranks["micse"])))
    assert "not significantly different (Wilcoxon's signed-rank test, Holm over 3 pairs, 5 %)" in drawn.caption
    assert "msse is better by more than 0.5 points, within them, worse by more: micse 1.00, 0.00, 0.00" in drawn.caption
    assert all(f"c{corpus}@" in drawn.caption for corpus in range(10))


def test_too_many_pairs_for_the_corpora_are_said_to_be() -> None:
    extra = [
        record(f"simcse+recipe(steps={n})", seed=0, corpus=f"c{c}", values=(n + c, n, n))
        for n in range(1, 6)
        for c in range(8)
    ]
    assert "no difference can be significant" in diagram(blocks(extra, StudyQuery(), "best")).caption


def test_a_method_that_lacks_a_corpus_is_left_out_and_named() -> None:
    kept = [one for one in runs() if (one.method, one.corpus.name) != ("simcse", "c3")]
    found = blocks(kept, StudyQuery(), "best")
    assert (found.methods, found.left_out) == (("micse", "msse"), ("simcse",))
    assert "Excluded, not on every corpus: simcse." in diagram(found).caption
    assert "Friedman's test of all" not in diagram(found).caption  # of two methods


@pytest.mark.parametrize(
    ("records", "words"),
    [
        (grid(), "needs 8 corpora, each with training runs of its own; here is 1. Tasks of one run"),
        (runs(7), "here are 7"),
        ([*runs(8), record("simcse", size=1000, corpus="c3")], "choose one with --fraction: 0.001, 0.01"),
        ([one for one in runs(8) if one.method == "msse"], "no two methods"),
        ([*runs(7), record("simcse", corpus="c8", encoder="other")], "records differ in encoder"),
        ([*runs(7), record("simcse", corpus="c8", device="cuda")], "records differ in device"),
    ],
)
def test_what_are_no_blocks_is_said_in_one_line(records: list[Record], words: str) -> None:
    with pytest.raises(BadResults) as caught:
        blocks(records, StudyQuery(), "best")
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_command_draws_or_says_why_not(tmp_path: Path) -> None:
    for name, records in (("one", grid()), ("many", runs())):
        store = Store(tmp_path / name)
        store.prepare()
        for one in records:
            store.write(one, {})
    out = tmp_path / "cd.svg"
    done = call("plot", str(tmp_path / "many"), "--kind", "cd", "--out", str(out))
    assert done.exit_code == 0, done.output
    first = out.read_bytes()
    call("plot", str(tmp_path / "many"), "--kind", "cd", "--out", str(out))
    assert out.read_bytes() == first
    done = call("plot", str(tmp_path / "one"), "--kind", "cd", "--out", str(out))
    assert (done.exit_code, len(without_progress(done.stderr))) == (2, 1)
    assert "cseb compare" in done.stderr
