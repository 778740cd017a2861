"""Figure of single runs: the course of training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

from cseb.analysis.stats import score
from cseb.analysis.study import Study
from cseb.errors import BadResults
from cseb.plots.style import MOST_LINES, LineEnd, Plot, label_lines, method_styles, panels, undrawn
from cseb.records.record import Record, Select, Trace
from cseb.reports.captions import signature
from cseb.text import plain, size_title

HEIGHT = 3.2  # inches of a panel
Curve = list[tuple[int, float]]


def training(study: Study, records: Mapping[str, Record]) -> Plot:
    """Draw loss, dev score and tracked tasks against the step, a panel for each size; thin lines are seeds.

    records: the whole records of the study, by key. Raises: BadResults if none has a trace.
    """
    traces = [trace for record in study.records if (trace := records[record.key].trace)]
    if not any(trace.curve for trace in traces):
        raise BadResults("these records hold no trajectory: loss and dev score were not recorded during training")
    dev = any(point[2] is not None for trace in traces for point in trace.curve)
    tracked = list(dict.fromkeys(name for trace in traces for _, scores in trace.along for name in scores))
    measures = ["loss", *(["dev score"] if dev else []), *tracked]
    trained = [method for method in study.methods if any(_traces(study, records, method, size) for size in study.sizes)]
    methods = _highest(study, trained, study.chosen(), "best" if dev else "last")
    styles = method_styles(map(plain, methods))
    figure, lines = panels(len(study.sizes), len(measures), width=2.6 * len(study.sizes) + 2.2, height=HEIGHT)
    for line, measure in zip(lines, measures, strict=True):
        for axes, (size, fraction) in zip(line, study.sizes.items(), strict=True):
            ends = []
            for method in methods:
                style = styles[plain(method)]
                curves = [_curve(trace, measure) for trace in _traces(study, records, method, size)]
                by_step: dict[int, list[float]] = {}
                for curve in curves:
                    axes.plot(*zip(*curve, strict=True), color=style["color"], linewidth=0.5, alpha=0.5)
                    for step, value in curve:
                        by_step.setdefault(step, []).append(value)
                if by_step:
                    steps, means = zip(*((step, fmean(by_step[step])) for step in sorted(by_step)), strict=True)
                    every = max(1, len(steps) // 8)
                    axes.plot(steps, means, label=plain(method), linewidth=1.6, markevery=every, **style)
                    ends.append(LineEnd(means[-1], plain(method), style["color"]))
            if line is lines[0]:
                axes.set_title(size_title(size, fraction))
            if line is lines[-1]:
                axes.set_xlabel("step")
            if axes is line[-1]:
                label_lines(axes, ends, HEIGHT)
        line[0].set_ylabel(measure)
    scores = f" and score on {plain(study.records[0].protocol.dev)}" if dev else ""
    caption = (
        f"Training: mean loss since the previous evaluation{scores}, by step. Thin: single seeds; thick: their mean."
    )
    return Plot(
        figure,
        " ".join([caption, *undrawn(trained, methods), signature(study, study.sizes, tuple(study.tasks), ("last",))]),
    )


def _highest(study: Study, methods: Sequence[str], tasks: Sequence[str], select: Select) -> list[str]:
    """Return at most six methods, those with the highest scores at the largest size, in the order of the study."""

    def mean(method: str) -> float:
        runs = study.runs.get((method, max(study.sizes)), {}).values()
        scores = [value for run in runs if not isinstance(value := score(run, tasks, select), str)]
        return fmean(scores) if scores else float("-inf")

    best = sorted(methods, key=mean, reverse=True)[:MOST_LINES]
    return [method for method in methods if method in best]


def _traces(study: Study, records: Mapping[str, Record], method: str, size: int) -> list[Trace]:
    """Return the traces of the seeds of a method that has been trained."""
    runs = study.runs.get((method, size), {}).values()
    return [trace for run in runs if (trace := records[run.key].trace) and trace.curve]


def _curve(trace: Trace, measure: str) -> Curve:
    points = [(step, loss if measure == "loss" else dev) for step, loss, dev in trace.curve]
    if measure not in ("loss", "dev score"):
        points = [(step, scores.get(measure)) for step, scores in trace.along]
    return [(step, value) for step, value in points if value is not None]
