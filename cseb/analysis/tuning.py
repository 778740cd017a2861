"""Trials of tuning: their dev scores, and what they chose."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from cseb.records.record import Record, Tuning
from cseb.text import plain, quantity

SHOWN = 6  # methods in a short footer


def dev_score(trial: Record) -> float:
    """Return the score that a trial is chosen by; minus infinity if its training failed or its encoder collapsed.

    It is that of the checkpoint which a reported run would use: the best one on the dev set, or else the last one.
    """
    if trial.scores:  # on a dev task that does not select checkpoints
        scores = trial.points("best" if trial.protocol.dev else "last").values()
        return -math.inf if None in scores else fmean(score for score in scores if score is not None)
    curve = trial.trace.curve if trial.trace else ()
    scored = [dev for step, _, dev in curve if dev is not None and trial.trace and step == trial.trace.best_step]
    return scored[-1] if scored else -math.inf


def mean_dev(trials: Iterable[Record]) -> float:
    """Return the mean dev score over seeds; minus infinity if one seed collapsed."""
    return fmean(map(dev_score, trials))


@dataclass(frozen=True, slots=True, kw_only=True)
class Sensitivity:
    """The trials of one method at one size: mean dev score by the values tried, and the tuning of the reported runs."""

    method: str
    size: int
    scores: Mapping[str, float]
    seeds: int  # trials of each value
    tuning: Tuning

    def __str__(self) -> str:
        values = [
            f"{options} {'collapsed' if score == -math.inf else f'{score:.2f}'}"
            + (" (chosen)" if options == self.tuning.options else "")
            for options, score in self.scores.items()
        ]
        if all(options.count("=") == 1 for options in self.scores):  # one option: its name once
            values = [value.replace(")", "", 1).partition("=")[2] for value in values]
        names = self.tuning.options.partition("=")[0].replace("(", ".") if self.tuning.options.count("=") == 1 else ""
        method = f"{plain(self.method)}, {quantity(self.size, 'sentence')}"
        return f"{method}{f', {names}' if names else ''}: {', '.join(values)}"


def sensitivities(reported: Iterable[Record], trials: Mapping[str, Record]) -> list[Sensitivity]:
    """Return the trials behind reported runs, by method and size. trials: all trials of the folder, by key."""
    tuned: dict[tuple[str, int, str], Sensitivity] = {}
    for record in reported:
        behind = [trials[key] for key in record.tuning.trials if key in trials] if record.tuning else []
        if not behind or record.tuning is None:
            continue
        by_options: dict[str, list[Record]] = {}
        for trial in behind:
            by_options.setdefault(trial.tuning.options if trial.tuning else "", []).append(trial)
        tuned[record.method, behind[0].subset.size, record.tuning.options] = Sensitivity(
            method=record.method,
            size=behind[0].subset.size,
            scores={options: mean_dev(seeds) for options, seeds in by_options.items()},
            seeds=max(map(len, by_options.values())),
            tuning=record.tuning,
        )
    return list(tuned.values())


def footer(tuned: Sequence[Sensitivity], detail: bool) -> list[str]:
    """Return the notes of a table on tuning: budget, chosen values and, in detail, the dev score of every value."""
    if not tuned:
        return []
    budgets = sorted({f"{len(search.scores)} values x {quantity(search.seeds, 'seed')}" for search in tuned})
    tasks = ", ".join(sorted({search.tuning.dev.partition("@")[0] for search in tuned}))
    added = max(search.tuning.added for search in tuned)
    why = f"; {quantity(added, 'value')} added because a best value was at an edge" if added else ""
    lines = [f"Tuned on {tasks}, {' or '.join(budgets)} for {'each' if len(budgets) == 1 else 'a'} method{why}."]
    if at_edge := sorted({search.method for search in tuned if search.tuning.at_edge}):
        lines.append(f"The best value is still at an edge for {', '.join(at_edge)}.")
    if detail:
        return [*map(plain, lines), *(f"Dev score by value: {search}." for search in tuned)]
    chosen: dict[str, dict[str, None]] = {}
    for search in tuned:
        chosen.setdefault(search.tuning.options, {})[search.method] = None
    values = "; ".join(f"{options} for {', '.join(methods)}" for options, methods in chosen.items())
    few = len({search.method for search in tuned}) <= SHOWN
    return [*map(plain, lines), plain(f"Chosen: {values}.") if few else "--detail shows the chosen values."]
