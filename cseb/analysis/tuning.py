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
        shown = (f"{options} {'collapsed' if score == -math.inf else f'{score:.2f}'}" for options, score in
                 self.scores.items())  # fmt: skip
        return plain(
            f"{self.method}, {quantity(self.size, 'sentence')}: {', '.join(shown)}; chosen {self.tuning.options}"
        )


def sensitivities(reported: Iterable[Record], trials: Mapping[str, Record]) -> list[Sensitivity]:
    """Return the trials behind reported runs, by method and size. trials: all trials of the folder, by key."""
    found: dict[tuple[str, int, str], Sensitivity] = {}
    for record in reported:
        if record.tuning is None:
            continue
        behind = [trials[key] for key in record.tuning.trials if key in trials]
        by_options: dict[str, list[Record]] = {}
        for trial in behind:
            assert trial.tuning is not None, "a trial has the options that it tries"
            by_options.setdefault(trial.tuning.options, []).append(trial)
        if behind:
            size = behind[0].subset.size
            found[record.method, size, record.tuning.options] = Sensitivity(
                method=record.method,
                size=size,
                scores={options: mean_dev(of) for options, of in by_options.items()},
                seeds=max(map(len, by_options.values())),
                tuning=record.tuning,
            )
    return list(found.values())


def footer(sensitivity: Sequence[Sensitivity], detail: bool) -> list[str]:
    """Return the notes of a table on tuning: budget, chosen values and, in detail, the dev score of every value."""
    if not sensitivity:
        return []
    budgets = sorted({f"{len(one.scores)} values x {quantity(one.seeds, 'seed')}" for one in sensitivity})
    tasks = ", ".join(sorted({one.tuning.dev.partition("@")[0] for one in sensitivity}))
    added = max(one.tuning.added for one in sensitivity)
    why = f"; {added} of the values were added because a best one was at an edge" if added else ""
    lines = [plain(f"Tuned on {tasks}, {' or '.join(budgets)} for {'each' if len(budgets) == 1 else 'a'} method{why}.")]
    if at_edge := sorted({one.method for one in sensitivity if one.tuning.at_edge}):
        lines.append(plain(f"The best value is still at an edge for {', '.join(at_edge)}."))
    if detail:
        return [*lines, *(f"Dev score by value: {each}." for each in sensitivity)]
    chosen: dict[str, dict[str, None]] = {}
    for each in sensitivity:
        chosen.setdefault(each.tuning.options, {})[each.method] = None
    if len({one.method for one in sensitivity}) > SHOWN:
        return [*lines, "--detail shows the chosen values."]
    values = "; ".join(f"{options} for {', '.join(methods)}" for options, methods in chosen.items())
    return [*lines, plain(f"Chosen: {values}.")]
