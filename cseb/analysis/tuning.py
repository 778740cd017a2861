"""Trials of tuning: their dev scores, and what they chose."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from cseb.records.record import Record, Tuning
from cseb.text import plain, quantity

SHOWN = 6  # methods in a short footer
OPTION = re.compile(r"(\w+)\((\w+)=(.*?)\)(?=, \w+\(\w+=|$)")  # recipe(learning_rate=0.001), also ami(layers=(0, 1))
NUMBER = re.compile(r"[+-]?\d+(\.\d*)?(e[+-]?\d+)?")


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


def tried(record: Record, options: str) -> str:
    """Return `options`, such as `recipe(learning_rate=0.001)`, with the values that a run had.

    The text in a trial itself is that of the search which trained it; a later one with other options may share it.
    """
    values = {(each.part.name, name): value for each in record.parts for name, value in each.part.options}
    return ", ".join(f"{part}({name}={values.get((part, name))!r})" for part, name, _ in OPTION.findall(options))


def expected_best(scores: Collection[float], tried: int) -> float:
    """Return the expected best of `tried` scores, drawn at random without replacement.

    It is the expected validation performance of Dodge et al. (2019), in the unbiased form of Tang et al. (2020). Minus
    infinity if all of those drawn may be.
    """
    ways = math.comb(len(scores), tried)
    weighted = ((score, math.comb(below, tried - 1) / ways) for below, score in enumerate(sorted(scores)))
    return sum(score * weight for score, weight in weighted if weight)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sensitivity:
    """The trials of one method at one size.

    option: the tuned option, such as recipe.learning_rate, or several with commas. scores: mean dev score by tried
    value. chosen: the value of the reported runs. seeds: trials of each value.
    """

    method: str
    size: int
    option: str
    scores: Mapping[str, float]
    chosen: str
    seeds: int
    tuning: Tuning


def sensitivities(reported: Iterable[Record], trials: Mapping[str, Record]) -> list[Sensitivity]:
    """Return the trials of the methods of reported runs, by method, size and choice.

    trials: all trials of the folder, by key. Trials that were added after the runs, with a larger budget, are counted
    in: they differ from those that the runs name in the tuned value alone.
    """
    alike: dict[frozenset[tuple[str, str]], dict[object, dict[str, Record]]] = {}  # by the tuned options
    searches: dict[tuple[str, int, str], dict[str, Record]] = {}
    largest: dict[tuple[str, int, str], Tuning] = {}  # budget
    for record in reported:
        behind = {key: trials[key] for key in record.tuning.trials if key in trials} if record.tuning else {}
        if not behind or record.tuning is None:
            continue
        tuning = replace(record.tuning, options=tried(record, record.tuning.options))
        first = next(iter(behind.values()))
        choice = record.method, first.subset.size, tuning.options
        if choice not in searches:
            tuned = frozenset((part, name) for part, name, _ in OPTION.findall(tuning.options))
            if tuned not in alike:
                alike[tuned] = _by_search(trials, tuned)
            searches[choice] = dict(alike[tuned][_untuned(first, tuned)])
        searches[choice].update(behind)
        largest[choice] = max(largest.get(choice, tuning), tuning, key=lambda each: len(each.trials))
    return [
        _sensitivity(method, size, largest[method, size, options], list(behind.values()))
        for (method, size, options), behind in searches.items()
    ]


def _by_search(trials: Mapping[str, Record], tuned: Collection[tuple[str, str]]) -> dict[object, dict[str, Record]]:
    """Return the trials of each search over these options, by key."""
    searches: dict[object, dict[str, Record]] = {}
    for key, trial in trials.items():
        searches.setdefault(_untuned(trial, tuned), {})[key] = trial
    return searches


def _untuned(trial: Record, tuned: Collection[tuple[str, str]]) -> object:
    """Return all that the trials of one search share: everything but the seed and the values of these options."""
    parts = tuple(
        (
            stated.named,
            tuple((name, value) for name, value in stated.part.options if (stated.part.name, name) not in tuned),
        )
        for stated in trial.parts
    )
    return trial.encoder.sha256, trial.corpus.sha256, trial.protocol, trial.subset.size, parts


def _sensitivity(method: str, size: int, tuning: Tuning, trials: Sequence[Record]) -> Sensitivity:
    by_value: dict[str, list[Record]] = {}
    for trial in trials:
        by_value.setdefault(_value(tried(trial, tuning.options)), []).append(trial)
    if len(options := OPTION.findall(tuning.options)) == 1 < len(by_value) and all(map(NUMBER.fullmatch, by_value)):
        ordered, option = sorted(by_value, key=float), ".".join(options[0][:2])
        tuning = replace(tuning, at_edge=(option,) * (options[0][2] in (ordered[0], ordered[-1])))
    return Sensitivity(
        method=method,
        size=size,
        option=", ".join(f"{part}.{name}" for part, name, _ in options),
        scores={value: mean_dev(seeds) for value, seeds in by_value.items()},
        chosen=_value(tuning.options),
        seeds=max(map(len, by_value.values())),
        tuning=tuning,
    )


def _value(options: str) -> str:
    """Return `0.001` of `recipe(learning_rate=0.001)`, and the values of several options with commas."""
    return ", ".join(value for _, _, value in OPTION.findall(options))


def footer(tuned: Sequence[Sensitivity], detail: bool) -> list[str]:
    """Return the notes of a table on tuning: the budget and, unless a table of all values follows, the chosen ones."""
    if not tuned:
        return []
    values, seeds = _range({len(search.scores) for search in tuned}, "value"), _range({s.seeds for s in tuned}, "seed")
    tasks = ", ".join(sorted({search.tuning.dev.partition("@")[0] for search in tuned}))
    added = max(search.tuning.added for search in tuned)
    why = f"; {quantity(added, 'value')} added because a best value was at an edge" if added else ""
    lines = [f"Tuned on {tasks}, {values} x {seeds} for each method{why}."]
    if at_edge := sorted({plain(search.method) for search in tuned if search.tuning.at_edge}):
        named = ", ".join(at_edge) if detail or len(at_edge) <= SHOWN else quantity(len(at_edge), "method")
        lines.append(f"The best value is still at an edge for {named}.")
    if detail:
        return lines
    if len({search.method for search in tuned}) > SHOWN:
        return [*lines, "--detail shows the chosen values."]
    values_of: dict[str, set[str]] = {}
    for search in tuned:
        values_of.setdefault(search.method, set()).add(search.tuning.options)
    chosen: dict[str, dict[str, None]] = {}
    for search in tuned:
        size = f" ({quantity(search.size, 'sentence')})" if len(values_of[search.method]) > 1 else ""
        chosen.setdefault(plain(search.tuning.options), {})[plain(search.method) + size] = None
    choices = [f"{options} for {', '.join(methods)}" for options, methods in chosen.items()]
    return [*lines, f"Chosen: {'; '.join(choices)}."]


def _range(counts: Collection[int], noun: str) -> str:
    """Return `4 to 6 values`, or `4 values` if all are equal."""
    few, many = min(counts), max(counts)
    return f"{few} to {quantity(many, noun)}" if few < many else quantity(many, noun)
