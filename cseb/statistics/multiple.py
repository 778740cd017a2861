"""Correction of p-values for many comparisons."""

from __future__ import annotations

import numpy as np

from cseb.statistics.intervals import Floats


def holm(p: Floats) -> Floats:
    """Return adjusted p-values (m,): the chance of any false rejection at `alpha` is at most `alpha`.

    Source: Holm 1979. Valid for any dependence between the tests.
    """
    order = np.argsort(p, kind="stable")
    steps = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    adjusted = np.empty_like(steps)
    adjusted[order] = np.minimum(steps, 1.0)
    return adjusted
