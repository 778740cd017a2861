"""Learning curves over training set sizes: their mean height, and the sizes at which two of them cross.

Sizes are on a logarithmic axis (base 10), as in figures; between two sizes a curve is linear.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cseb.statistics.intervals import Floats, quantile

STEPS = 400  # points of the axis at which a curve is evaluated


def weights(sizes: Floats) -> Floats:
    """Return weights (F,) of increasing sizes that add to one and whose weighted sum is the mean height of a curve.

    The mean height is the area under the curve divided by the width of the axis, in score units.
    """
    axis = np.log10(sizes)
    widths = np.diff(axis)
    trapezoids: Floats = (np.append(widths, 0) + np.append(0, widths)) / 2 / (axis[-1] - axis[0])
    return trapezoids


@dataclass(frozen=True, slots=True)
class Crossing:
    """The training set size, in sentences, at which two curves cross.

    low, high: the difference is not significant at sizes between them; None if the bound is outside the measured sizes.
    """

    at: float
    low: float | None
    high: float | None


def crossings(sizes: Floats, differences: Floats, items: Floats | None = None) -> list[Crossing]:
    """Return every size at which the mean difference changes its sign.

    The interval of a crossing contains the sizes at which the 95 % interval of the difference contains zero (Fieller's
    set, computed on a grid).

    Args:
        sizes: (F,), increasing.
        differences: (S, F) differences of scores by seed and size, S at least 2.
        items: (F, F) covariance of the mean differences over test items, if known.
    """
    axis = np.log10(sizes)
    grid = np.linspace(axis[0], axis[-1], STEPS)
    spans = np.array([np.interp(grid, axis, row) for row in np.eye(len(axis))]).T  # (STEPS, F)
    means = spans @ differences.mean(axis=0)
    changes = np.flatnonzero(np.diff(means >= 0))
    if not len(changes):
        return []
    seeds = np.cov(differences, rowvar=False) / len(differences)
    of_seeds = np.einsum("pf,fg,pg->p", spans, seeds, spans)
    of_items = 0.0 if items is None else np.einsum("pf,fg,pg->p", spans, items, spans)
    variance = of_seeds + of_items
    with np.errstate(divide="ignore", invalid="ignore"):
        df = (len(differences) - 1) * (variance / of_seeds) ** 2
    reach = np.array([quantile(float(value) if np.isfinite(value) else np.inf) for value in df])
    unclear = np.abs(means) <= reach * np.sqrt(variance)
    clear = np.flatnonzero(~unclear)
    curve_crossings = []
    for change in changes.tolist():
        rise = means[change + 1] - means[change]
        at = grid[change] - means[change] * (grid[change + 1] - grid[change]) / rise
        before, after = clear[clear <= change], clear[clear > change]
        low = float(10 ** grid[before[-1]]) if len(before) else None
        high = float(10 ** grid[after[0]]) if len(after) else None
        curve_crossings.append(Crossing(float(10**at), low, high))
    return curve_crossings
