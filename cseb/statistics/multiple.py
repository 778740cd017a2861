"""Many comparisons at once: p-values that keep the error rate of a whole family."""

from __future__ import annotations

import numpy as np

from cseb.statistics.intervals import Floats


def holm(p: Floats) -> Floats:
    """Adjusted p-values (m,): rejecting those at most alpha makes any false rejection in the family rarer than alpha.

    Source: Holm 1979. Valid whatever the dependence between the tests.
    """
    order = np.argsort(p, kind="stable")
    steps = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    return _in_place(np.minimum(steps, 1.0), order)


def benjamini_hochberg(p: Floats) -> Floats:
    """q-values (m,): of those at most q, an expected share of q at most is false, for tests that help each other.

    Source: Benjamini & Hochberg 1995.
    """
    order = np.argsort(p, kind="stable")[::-1]
    steps = np.minimum.accumulate(p[order] * len(p) / np.arange(len(p), 0, -1))
    return _in_place(np.minimum(steps, 1.0), order)


def _in_place(steps: Floats, order: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> Floats:
    adjusted = np.empty_like(steps)
    adjusted[order] = steps
    return adjusted
