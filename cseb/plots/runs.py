"""Figures of single runs: how training went, and where the vectors lie."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

from cseb.analysis.stats import score
from cseb.analysis.study import Study
from cseb.errors import BadResults
from cseb.plots.style import Plot, legend, line_style, panels
from cseb.records.record import Record, Select, Trace
from cseb.reports.captions import signature
from cseb.text import plain, quantity, size_title

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MEASURES = ("alignment", "uniformity")
Held = Mapping[str, Record]  # the whole records of a study, by key
Curve = list[tuple[int, float | None]]


def training(study: Study, held: Held) -> Plot:
    """Loss, dev points and followed tasks against the step, a panel for each size; thin lines are seeds."""
    traces = [trace for one in study.records if (trace := held[one.key].trace)]
    if not any(trace.curve for trace in traces):
        raise BadResults("these records hold no trajectory: loss and dev score were not recorded during training")
    dev = any(point[2] is not None for trace in traces for point in trace.curve)
    followed = list(dict.fromkeys(name for trace in traces for _, found in trace.along for name in found))
    shown = ["loss", *(["dev points"] if dev else []), *followed]
    figure, lines = panels(len(study.sizes), len(shown), height=2.2)
    for row, (line, what) in enumerate(zip(lines, shown, strict=True)):
        for axes, (size, fraction) in zip(line, study.sizes.items(), strict=True):
            for place, method in enumerate(study.methods):
                runs = [held[one.key].trace for one in study.runs.get((method, size), {}).values()]
                _trajectories(axes, [_curve(one, what) for one in runs if one], plain(method), place)
            axes.set_title(size_title(size, fraction) if not row else "")
            axes.set_xlabel("step" if row == len(lines) - 1 else "")
            axes.set_ylabel(what if axes is line[0] else "")
    legend(figure, lines[0][0], len(study.methods))
    chosen = study.records[0].protocol.dev
    message = (
        f"Training: mean loss since the previous evaluation{f' and points on {plain(chosen)}' if dev else ''}, by step."
    )
    return Plot(figure, f"{message} Thin: single seeds; thick: their mean. {_signed(study, ())}")


def geometry(study: Study, held: Held, tasks: Sequence[str], select: Select) -> Plot:
    """Alignment against uniformity (Wang & Isola 2020, both lower is better), the score of `tasks` as colour.

    One mark for each method and size, mean over seeds. Raises: BadResults when no task says where vectors lie.
    """
    found = list(_places(study, held, tasks, select))
    if not found:
        raise BadResults(
            "no record has alignment and uniformity; run a task that measures alignment and uniformity beside the "
            "others"
        )
    figure, ((axes,),) = panels(1, width=6, height=3.6)
    scores = [one.points for one in found]
    for place, method in enumerate(dict.fromkeys(one.method for one in found)):
        mine = [one for one in found if one.method == method]
        drawn = axes.scatter(
            [one.uniformity for one in mine],
            [one.alignment for one in mine],
            c=[one.points for one in mine],
            vmin=min(scores),
            vmax=max(scores),
            cmap="cividis",  # made for colour-blind readers
            marker=line_style(place)["marker"],
            s=46,
            edgecolors="black",
            linewidths=0.6,
            label=method,
        )
    for one in found:
        where = (one.uniformity, one.alignment)
        axes.annotate(f"{one.size:,}", where, xytext=(5, 4), textcoords="offset points", fontsize=7)
    figure.colorbar(drawn, ax=axes, label="points")
    axes.set_xlabel("uniformity (lower: spread out)")
    axes.set_ylabel("alignment (lower: like sentences close)")
    axes.grid(visible=True)
    legend(figure, axes, len(study.methods))
    over = quantity(len(tasks), "task")
    message = f"Alignment and uniformity, mean over seeds of the {select} checkpoint; colour: points over {over}."
    return Plot(figure, f"{message} Numbers beside marks: sentences. {_signed(study, tasks)}")


@dataclass(frozen=True, slots=True)
class Mark:
    """A method at one size, mean over seeds."""

    method: str
    size: int
    alignment: float
    uniformity: float
    points: float


def _places(study: Study, held: Held, tasks: Sequence[str], select: Select) -> Iterator[Mark]:
    for method in study.methods:
        for size in study.sizes:
            runs = study.runs.get((method, size), {}).values()
            found = [
                (where, points)
                for one in runs
                if (where := _lies(held[one.key], select)) and not isinstance(points := score(one, tasks, select), str)
            ]
            if found:
                alignment, uniformity = (fmean(where[axis] for where, _ in found) for axis in (0, 1))
                yield Mark(plain(method), size, alignment, uniformity, fmean(points for _, points in found))


def _lies(record: Record, select: Select) -> tuple[float, float] | None:
    """Alignment and uniformity, of whichever tasks measure them."""
    found = {
        name: value
        for one in record.scores
        if one.select == select
        for name, value in one.detail.items()
        if name in MEASURES and value is not None
    }
    return (found["alignment"], found["uniformity"]) if len(found) == len(MEASURES) else None


def _trajectories(axes: Axes, curves: Sequence[Curve], label: str, place: int) -> None:
    style = line_style(place)
    by_step: dict[int, list[float]] = {}
    for curve in curves:
        known = [(step, value) for step, value in curve if value is not None]
        axes.plot([x for x, _ in known], [y for _, y in known], color=style["color"], linewidth=0.5, alpha=0.5)
        for step, value in known:
            by_step.setdefault(step, []).append(value)
    steps = sorted(by_step)
    means = [fmean(by_step[step]) for step in steps]
    every = max(1, len(steps) // 8)
    axes.plot(steps, means, label=label, linewidth=1.6, markevery=every, **style)


def _curve(trace: Trace, what: str) -> Curve:
    if what in ("loss", "dev points"):
        return [(step, loss if what == "loss" else dev) for step, loss, dev in trace.curve]
    return [(step, found.get(what)) for step, found in trace.along]


def _signed(study: Study, tasks: Sequence[str]) -> str:
    return signature(study, study.sizes, tasks or tuple(study.tasks), ("last",))
