"""Corpora whose lines are pairs or triples, and lines that are neither."""

import pytest

from cseb.errors import BadData
from cseb.parts.labelled_views import Pairs, Triples

LINES = ["a man \tsomeone\tnobody", "a dog\tan animal\ta cat"]


def test_a_triple_is_three_views() -> None:
    assert Triples()(LINES) == (["a man", "a dog"], ["someone", "an animal"], ["nobody", "a cat"])


def test_a_pair_is_two_views_and_leaves_a_third_column_out() -> None:
    assert Pairs()(LINES) == (["a man", "a dog"], ["someone", "an animal"])
    assert Pairs()(["how?\tso", LINES[1]]) == (["how?", "a dog"], ["so", "an animal"])


@pytest.mark.parametrize("line", ["a man", "a\tb", "a\tb\tc\td", "a\t\tc", "\t\t"])
def test_a_line_that_is_no_triple_is_shown(line: str) -> None:
    with pytest.raises(BadData, match=r"lines that are not triples.*: 1 of 3"):
        Triples()([*LINES, line])


@pytest.mark.parametrize("line", ["a man", "a\t", "a\tb\tc\td"])
def test_a_line_that_is_no_pair_is_shown(line: str) -> None:
    with pytest.raises(BadData, match="lines that are not pairs"):
        Pairs()([line])
