"""Performance profiles: how many runs and tasks gain how much."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from cseb.analysis.gains import Floor, gains
from cseb.analysis.study import Study
from cseb.errors import BadResults
from cseb.plots.style import Plot, legend, line_style, panels
from cseb.records.record import Select
from cseb.reports.captions import signature
from cseb.statistics.profiles import band, fraction_above, iqm_of_seeds
from cseb.text import percent, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = npt.NDArray[np.float64]


def profile(study: Study, tasks: Sequence[str], select: Select, base: Floor) -> Plot:
    """Fraction of (seed, task) pairs that gain more than x points, a panel for each size (Agarwal et al. 2021).

    Raises: BadResults when no seed has all tasks and a start to count from.
    """
    trained = [size for size in study.sizes if size]
    found = {size: one for size in trained if (one := gains(study, size, tasks, select, base))}
    if not found:
        raise BadResults(f"no method but {base.title} has points on all of these tasks; nothing was gained")
    names = [method for method in study.methods if any(method in one for one in found.values())]
    figure, (line,) = panels(len(found))
    phrases = []
    for axes, (size, by_method) in zip(line, found.items(), strict=True):
        for method, gained in by_method.items():
            _curve(axes, gained, plain(method), names.index(method))
        axes.axvline(0, color="black", linewidth=0.8)
        axes.set_ylim(-0.02, 1.02)
        axes.set_title(f"{percent(study.sizes[size])} ({size:,})")
        axes.set_xlabel("points gained")
        axes.set_ylabel("fraction of runs and tasks above" if axes is line[0] else "")
        phrases.append(f"at {percent(study.sizes[size])}: {_middles(by_method)}")
    fullest = max(line, key=lambda axes: len(axes.get_lines()))
    legend(figure, fullest, len(names))
    what = (
        f"Performance profile: fraction of the pairs of a seed and one of {len(tasks)} tasks that gain more points "
        f"than x over {base.title}, "
        f"{select} checkpoint. Bands: pointwise 95 %, bootstrap over seeds; too narrow with few seeds. "
        f"Interquartile mean over seeds of the gain averaged over tasks, with its interval: {'; '.join(phrases)}."
    )
    return Plot(figure, f"{what} {signature(study, {size: study.sizes[size] for size in found}, tasks, (select,))}")


def _curve(axes: Axes, gained: Floats, label: str, place: int) -> None:
    steps = np.unique(gained)
    at = np.concatenate([steps[:1] - 0.5, steps, steps[-1:] + 0.5])
    style, every = line_style(place), max(1, len(at) // 8)
    axes.plot(at, fraction_above(gained, at), label=label, drawstyle="steps-post", markevery=every, **style)
    if len(gained) > 1:
        low, high = band(gained, at)
        axes.fill_between(at, low, high, step="post", color=style["color"], alpha=0.15, linewidth=0)


def _middles(by_method: Mapping[str, Floats]) -> str:
    phrases = []
    for method, gained in by_method.items():
        middle, reach = iqm_of_seeds(gained)
        spread = f" [{reach.low:.2f}, {reach.high:.2f}]" if len(gained) > 1 else ""
        phrases.append(f"{plain(method)} {middle:+.2f}{spread} (n={len(gained)})")
    return ", ".join(phrases)
