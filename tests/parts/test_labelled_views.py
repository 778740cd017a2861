"""Corpora whose lines are pairs or triples, and lines that are neither."""

from collections.abc import Callable
from pathlib import Path

import pytest

from cseb.errors import BadData
from cseb.methods.grammar import parse_method
from cseb.parts.labelled_views import ClassPairs, Pairs, RatedPairs, Triples
from cseb.training.batches import texts_of, texts_per_line
from cseb.training.build import build

LABELLED = ["pay\tbank", "save\tbank", "run\tsport", "swim\tsport", "sleep\tother"]
LINES = ["a man \tsomeone\tnobody", "a dog\tan animal\ta cat"]


def test_a_triple_is_three_views() -> None:
    assert Triples()(LINES) == (["a man", "a dog"], ["someone", "an animal"], ["nobody", "a cat"])


def test_a_pair_is_two_views_and_leaves_a_third_column_out() -> None:
    assert Pairs()(LINES) == (["a man", "a dog"], ["someone", "an animal"])
    assert Pairs()(["how?\tso", LINES[1]]) == (["how?", "a dog"], ["so", "an animal"])


def test_a_rated_pair_is_two_views_and_a_score() -> None:
    views = RatedPairs()
    assert views(["a man\tsomeone\t4.5", "a dog\ta cat\t1"]) == (["a man", "a dog"], ["someone", "a cat"])
    assert views.scores == [4.5, 1.0]


@pytest.mark.parametrize("line", ["a man", "a\tb", "a\tb\tc\td", "a\t\tc", "\t\t"])
def test_a_line_that_is_no_triple_is_shown(line: str) -> None:
    with pytest.raises(BadData, match=r"lines that are not triples.*: 1 of 3"):
        Triples()([*LINES, line])


@pytest.mark.parametrize("line", ["a man", "a\t", "a\tb\tc\td"])
def test_a_line_that_is_no_pair_is_shown(line: str) -> None:
    with pytest.raises(BadData, match="lines that are not pairs"):
        Pairs()([line])


def test_labelled_sentences_become_pairs_of_one_class_and_of_two() -> None:
    views = ClassPairs(run_seed=0, iterations=3)
    left, right = views(LABELLED)
    classes = dict(line.split("\t") for line in LABELLED)
    assert len(left) == len(LABELLED) * 2 * 3
    assert views.scores == [float(classes[a] == classes[b]) for a, b in zip(left, right, strict=True)]
    assert sum(views.scores) == len(LABELLED) * 3


def test_the_draw_of_pairs_depends_on_the_seed(tiny: Callable[[str], Path]) -> None:
    def left(seed: int) -> list[str]:
        return list(build(parse_method("setfit").at(1.0), tiny("bert"), seed).views(LABELLED)[0])

    assert left(1) == left(1) != left(2)


def test_post_processors_are_fitted_on_each_labelled_sentence_once() -> None:
    assert texts_of(ClassPairs(run_seed=0), LABELLED) == ["pay", "save", "run", "swim", "sleep"]
    assert texts_per_line(ClassPairs(run_seed=0)) == 1


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["pay\tbank", "run"], "lines that are not labelled sentences"),
        (["pay\tbank", "save\tbank"], "all 2 sentences have the label 'bank'; two classes are needed"),
        (LABELLED * 1001, "5,005 labelled sentences are too many; take 5,000 or fewer"),
    ],
)
def test_sentences_without_two_classes_are_refused(lines: list[str], message: str) -> None:
    with pytest.raises(BadData, match=message):
        ClassPairs(run_seed=0)(lines)
