"""Corrections for many tests and what is significantly different."""

import numpy as np
import pytest

from cseb.statistics.multiple import holm, letters, with_best


def pairs(*texts: str) -> set[frozenset[str]]:
    return {frozenset(text) for text in texts}


def test_holm_by_hand() -> None:
    assert holm(np.array([0.04, 0.01, 0.03])) == pytest.approx([0.06, 0.03, 0.06])
    assert holm(np.array([0.9, 0.6])) == pytest.approx([1.0, 1.0])
    assert holm(np.array([])).shape == (0,)


def test_holm_is_that_of_statsmodels() -> None:
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    rng = np.random.default_rng(1)
    for size in (1, 3, 28):
        p = np.round(rng.random(size) ** 2, 2)  # with ties
        assert holm(p) == pytest.approx(multitest.multipletests(p, method="holm")[1])


def test_groups_join_what_is_not_significantly_different() -> None:
    assert letters("abcd", pairs("ad", "bd")) == {"a": "a", "b": "a", "c": "ab", "d": "b"}
    assert letters("abc", set()) == {"a": "a", "b": "a", "c": "a"}
    assert letters("abc", pairs("ab", "bc", "ac")) == {"a": "a", "b": "b", "c": "c"}


def test_methods_share_a_letter_exactly_if_they_do_not_differ() -> None:
    rng = np.random.default_rng(5)
    names = [f"m{place}" for place in range(9)]
    for _ in range(30):
        different = {frozenset((a, b)) for a in names for b in names if a < b and rng.random() < 0.4}
        shown = letters(names, different)
        for a in names:
            for b in names:
                if a < b:
                    assert bool(set(shown[a]) & set(shown[b])) == (frozenset((a, b)) not in different)


def test_the_best_and_all_not_significantly_different_from_it() -> None:
    assert with_best("abcd", pairs("ac", "bd")) == ("a", "b", "d")
    assert with_best("a", set()) == ("a",)
