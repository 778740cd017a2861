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
    adjusted = np.empty_like(steps)
    adjusted[order] = np.minimum(steps, 1.0)
    return adjusted
