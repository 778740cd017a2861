"""Over several sizes of the training set: the mean height of a curve, and where two curves cross.

Sizes count by their logarithm to base 10, as figures draw them; between two sizes a curve is a straight line.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cseb.statistics.intervals import Floats, quantile

STEPS = 400  # places along the axis at which a curve is looked at


def weights(sizes: Floats) -> Floats:
    """Weights (F,) of rising sizes such that a weighted sum is the mean height of a curve; they add to one.

    The mean height is the area under the curve divided by the width of the axis, so that its unit is points.
    """
    axis = np.log10(sizes)
    widths = np.diff(axis)
    found: Floats = (np.append(widths, 0) + np.append(0, widths)) / 2 / (axis[-1] - axis[0])
    return found


@dataclass(frozen=True, slots=True)
class Crossing:
    """Where one curve overtakes another, in sentences.

    low, high: between them lie all sizes at which the difference is not significant; None lies outside the sizes
    that were measured.
    """

    at: float
    low: float | None
    high: float | None


def crossings(sizes: Floats, differences: Floats, items: Floats | None = None) -> list[Crossing]:
    """Every size at which the mean difference changes its sign; empty if it never does.

    sizes: (F,) rising; differences: (S, F) points by seed and size, S at least 2; items: (F, F) covariance of the mean
    differences over test items, if it is known. Intervals hold the sizes at which zero lies inside the 95 % interval
    of the difference, which is Fieller's set worked out on a grid.
    """
    axis = np.log10(sizes)
    places = np.linspace(axis[0], axis[-1], STEPS)
    spans = np.array([np.interp(places, axis, row) for row in np.eye(len(axis))]).T  # (STEPS, F)
    means = spans @ differences.mean(axis=0)
    turns = np.flatnonzero(np.diff(means >= 0))
    if not len(turns):
        return []
    seeds = np.cov(differences, rowvar=False) / len(differences)
    of_seeds = np.einsum("pf,fg,pg->p", spans, seeds, spans)
    of_items = 0.0 if items is None else np.einsum("pf,fg,pg->p", spans, items, spans)
    variance = of_seeds + of_items
    with np.errstate(divide="ignore", invalid="ignore"):
        df = (len(differences) - 1) * (variance / of_seeds) ** 2
    reach = np.array([quantile(float(one) if np.isfinite(one) else np.inf) for one in df])
    unclear = np.abs(means) <= reach * np.sqrt(variance)
    return [_crossing(places, means, unclear, int(turn)) for turn in turns]


def _crossing(
    places: Floats, means: Floats, unclear: np.ndarray[tuple[int, ...], np.dtype[np.bool_]], turn: int
) -> Crossing:
    rise = means[turn + 1] - means[turn]
    at = places[turn] - means[turn] * (places[turn + 1] - places[turn]) / rise
    clear = np.flatnonzero(~unclear)
    before, after = clear[clear <= turn], clear[clear > turn]
    return Crossing(
        at=float(10**at),
        low=float(10 ** places[before[-1]]) if len(before) else None,
        high=float(10 ** places[after[0]]) if len(after) else None,
    )
