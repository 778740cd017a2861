"""Tuning: an equal search of option values for every method, on the dev task, before the reported runs. No torch here.

A comparison is fair if every method has the same budget (Gulrajani and Lopez-Paz 2021, Dodge et al. 2019). A trial is a
job with the recipe, steps and checkpoint rule of the reported runs, with seeds of its own and without test tasks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, FiniteFloat
from pydantic.types import StringConstraints

from cseb.analysis.tuning import mean_dev
from cseb.errors import BadBenchmark, BadSpec
from cseb.experiment.job import Job
from cseb.methods.grammar import labels
from cseb.methods.part_facts import facts
from cseb.methods.spec import Edit, Option, part, preset
from cseb.parameters import MOST
from cseb.records.record import Record, Tuning

LONGEST_NUMBER = 100  # of a number


def joined(value: object) -> object:
    """Return a list of texts as one text with commas, as the command line writes it; other values unchanged."""
    return ",".join(value) if isinstance(value, list) and all(isinstance(item, str) for item in value) else value


def numbers(value: object) -> object:
    """Return `0.001,0.01`, a number or a list as a tuple. YAML reads 1e-3 as text, so texts become numbers."""
    items = value.split(",") if isinstance(value, str) else value if isinstance(value, list | tuple) else [value]
    return tuple(_number(item) for item in items)


def _number(item: object) -> object:
    for kind in (int, float):
        try:
            return kind(item) if isinstance(item, str) and len(item) <= LONGEST_NUMBER else item
        except ValueError:
            continue
    return item


Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]  # part of a file name
Line = Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f]*$")]
Filled = Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f]+$")]
Dev = Annotated[Line, BeforeValidator(lambda value: "" if value == "none" else value)]
Texts = Annotated[Filled, BeforeValidator(joined, json_schema_input_type=Filled | list[Filled])]
Numbers = float | str | list[float | str]  # as they may be written
Layout = Annotated[str, StringConstraints(pattern=r"^(few-shot|tasks|(ablation|sensitivity)( \S+)?)?$")]
Fractions = Annotated[
    tuple[Annotated[float, Field(gt=0, le=1)], ...], BeforeValidator(numbers, json_schema_input_type=Numbers)
]
Counts = Annotated[
    tuple[Annotated[int, Field(ge=1, le=MOST)], ...], BeforeValidator(numbers, json_schema_input_type=Numbers)
]


FIRST_SEED = 10_000  # reported runs have smaller ones
DIGITS = 3  # significant ones of a value that the search adds

OptionName = Annotated[
    str, StringConstraints(pattern=r"^[A-Za-z_]\w*\.[A-Za-z_]\w*$")
]  # of an option: recipe.learning_rate
Values = Annotated[
    tuple[bool | int | FiniteFloat | str, ...],
    BeforeValidator(numbers, json_schema_input_type=Numbers | list[bool]),
    Field(min_length=1, max_length=100),
]
Space = dict[OptionName, Values]
Settings = tuple[tuple[str, Option], ...]  # a value for each option
Spaces = Mapping[str, Mapping[str, tuple[Option, ...]]]  # by method as in `per_method`; "" for all others


class Tune(BaseModel):
    """The field `tune` of a benchmark: which options are tuned, with which values, and how.

    options: values by option, such as recipe.learning_rate: [1e-4, 1e-3]; of several options every combination. at: the
    training set size, or fraction, of the trials; None for a search at each one of the benchmark. further: how many
    values may be added at each edge of those of an option, as long as the best one is there.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    options: Space = {"recipe.learning_rate": (1e-4, 3e-4, 1e-3, 3e-3)}
    per_method: dict[Filled, Space] = {}  # options of single methods, in place of `options`, with as many values
    seeds: Annotated[int, Field(ge=1, le=100)] = 2  # trials of each value
    at: Annotated[int | FiniteFloat, Field(gt=0)] | None = None
    dev: Dev = ""  # the dev task that chooses the values; "" for the one that selects checkpoints
    further: Annotated[int, Field(ge=0, le=20)] = 6

    def spaces(self) -> Spaces:
        """Return the values of each option, numbers in rising order."""
        return {
            name: {option: tuple(sorted(values)) if _numeric(values) else values for option, values in space.items()}
            for name, space in {"": self.options, **self.per_method}.items()
        }

    def check(self, dev: str) -> None:
        """Check the options, and that the budget of all methods is equal. dev: of the benchmark. Raises: CsebError."""
        if not (self.dev or dev):
            raise BadBenchmark("no dev task chooses the values; add one, such as dev: stsb-dev")
        for name, space in self.spaces().items():
            if name and labels(name) != [name]:
                raise BadBenchmark(f"per_method has {name!r}; write it as tables do: {', '.join(labels(name))}")
            if not space:
                raise BadBenchmark("no option is named; write such as options: {recipe.learning_rate: [1e-4, 1e-3]}")
            _check_options(tuple((option, values[0]) for option, values in space.items()))
            if twice := [option for option, values in space.items() if len(set(values)) < len(values)]:
                raise BadBenchmark(f"{twice[0]} has a value twice; name each once")
            counts, wanted = ([len(values) for values in each.values()] for each in (space, self.options))
            if counts != wanted:
                raise BadBenchmark(
                    f"{name} has {_counted(counts)} values, the others {_counted(wanted)}; give every method as many"
                )


@dataclass(frozen=True, slots=True)
class Cell:
    """A method at one training set size. job: makes the job of seed 0 with further edits."""

    label: str
    size: int
    job: Callable[[Sequence[Edit]], Job]


@dataclass(frozen=True, slots=True)
class Search:
    """The state of a search. trials: all jobs so far. chosen: by method and size, once every trial has a record."""

    trials: Sequence[Job]
    chosen: Mapping[tuple[str, int], tuple[Settings, Tuning]] | None


def search(tune: Tune, dev: str, cells: Sequence[Cell], records: Mapping[str, Record]) -> Search:
    """Return the trials that can be planned now, and what they have chosen if all of them have a record.

    If the best value of a method is at an edge, a further value is added for every method, until all are inside. dev:
    the task that chooses, as records name it. cells: the methods that train, at each size of the search. records: of
    trials, by key. Raises: BadBenchmark if an option changes nothing in a method, or no value of a method works.
    """
    spaces = tune.spaces()
    trials: dict[tuple[str, int, Settings], list[Job]] = {}
    while True:
        best: dict[tuple[str, int], Settings] = {}
        useless: list[Cell] = []  # each value failed or collapsed
        keys: dict[tuple[str, int], tuple[str, ...]] = {}
        for cell in cells:
            space = spaces[_group(spaces, cell.label)]
            candidates: list[Settings] = [tuple(zip(space, values, strict=True)) for values in product(*space.values())]
            for settings in candidates:
                if (cell.label, cell.size, settings) not in trials:
                    trials[cell.label, cell.size, settings] = _trials(tune, dev, cell, settings)
            jobs = {settings: trials[cell.label, cell.size, settings] for settings in candidates}
            _check_effect(cell.label, jobs)
            keys[cell.label, cell.size] = tuple(job.key for each in jobs.values() for job in each)
            if all(key in records for key in keys[cell.label, cell.size]):
                scores = {settings: mean_dev(records[job.key] for job in each) for settings, each in jobs.items()}
                best[cell.label, cell.size] = max(candidates, key=lambda each: scores[each])  # the first of equals
                if max(scores.values()) == -math.inf:
                    useless.append(cell)
        if len(best) < len(cells):
            return Search(_by_seed(trials.values()), None)
        if (wider := _wider(tune, spaces, best)) is None:
            if useless:
                label, size = useless[0].label, useless[0].size
                names = " or ".join(spaces[_group(spaces, label)])
                raise BadBenchmark(
                    f"tune: with every value of {names} a seed of {label} failed or collapsed at {size:,} sentences, "
                    f"so that none can be chosen; give other values, or leave the method out"
                )
            chosen = {}
            for place, settings in best.items():
                name = _group(spaces, place[0])
                tuning = Tuning(
                    options=written(settings),
                    dev=dev,
                    trials=keys[place],
                    added=sum(map(len, spaces[name].values())) - sum(map(len, tune.spaces()[name].values())),
                    at_edge=tuple(option for option, value in settings if _at_edge(spaces[name][option], value)),
                )
                chosen[place] = settings, tuning
            return Search(_by_seed(trials.values()), chosen)
        spaces = wider


def edits(settings: Settings) -> list[Edit]:
    """Return settings as edits of the parts that a method has."""
    return [Edit("~", part(name.partition(".")[0], **{name.partition(".")[2]: value})) for name, value in settings]


def written(settings: Settings) -> str:
    """Return settings as text, such as `recipe(learning_rate=0.001)`."""
    return ", ".join(str(edit.part) for edit in edits(settings))


def _trials(tune: Tune, dev: str, cell: Cell, settings: Settings) -> list[Job]:
    job = cell.job(edits(settings))
    tuning = Tuning(options=written(settings), dev=dev)
    seeds = range(FIRST_SEED, FIRST_SEED + tune.seeds)
    return [replace(job, seed=seed, purpose="tuning", tuning=tuning) for seed in seeds]


def _by_seed(trials: Iterable[Sequence[Job]]) -> list[Job]:
    return sorted((job for each in trials for job in each), key=lambda job: job.seed)


def _check_effect(label: str, jobs: Mapping[Settings, Sequence[Job]]) -> None:
    """Raises: BadBenchmark if two settings give one method: its text sets the option, or it lacks the part."""
    methods = {jobs[settings][0].method.resolved(): settings for settings in jobs}
    if len(methods) < len(jobs):
        names = " or ".join(dict(next(iter(jobs))))
        raise BadBenchmark(
            f"tune: {names} cannot be tuned for {label}, which sets it itself or lacks the part; change the method, or "
            f"name other options for it under per_method"
        )


def _wider(tune: Tune, spaces: Spaces, best: Mapping[tuple[str, int], Settings]) -> Spaces | None:
    """Return the spaces with one further value of one option for every method; None if all best ones are inside."""
    start = tune.spaces()
    for place in range(len(tune.options)):
        wider: dict[str, Mapping[str, tuple[Option, ...]]] = {}
        wanted = False
        for name, space in spaces.items():
            option, values = list(space.items())[place]
            chosen = [settings[place][1] for (label, _), settings in best.items() if _group(spaces, label) == name]
            below = values.index(start[name][option][0])  # the values that were added at each edge
            above = len(values) - len(start[name][option]) - below
            lower = _further(option, values[::-1]) if below < tune.further else None
            higher = _further(option, values) if above < tune.further else None
            if lower is not None and (values[0] in chosen or higher is None):
                wider[name] = {**space, option: (lower, *values)}
                wanted |= values[0] in chosen
            elif higher is not None:
                wider[name] = {**space, option: (*values, higher)}
                wanted |= values[-1] in chosen
        if wanted and len(wider) == len(spaces):
            return wider
    return None


def _further(option: str, values: Sequence[Any]) -> Option:
    """Return the value behind the last one, in the ratios of those before.

    None if they are no positive numbers, or the option cannot have that value.
    """
    if len(values) < 2 or not _numeric(values) or min(values) <= 0:
        return None
    value = values[-1] * (values[-2] / values[-3] if len(values) > 2 else values[-1] / values[-2])
    whole = all(isinstance(each, int) for each in values)
    value = round(value) if whole else float(f"{value:.{DIGITS}g}")
    try:
        _check_options(((option, value),))
    except BadSpec:
        return None
    return None if value in values else value


def _check_options(settings: Settings) -> None:
    """Raises: BadSpec if a part has no such option, or the option cannot have this value."""
    for edit in edits(settings):
        whole = preset(edit.part.name).updated(edit.part)
        facts(whole.name).check(dict(whole.options))


def _group(spaces: Spaces, label: str) -> str:
    """Return the name of the values of a method."""
    return label if label in spaces else ""


def _at_edge(values: Sequence[Option], value: Option) -> bool:
    return _numeric(values) and len(values) > 1 and value in (values[0], values[-1])


def _numeric(values: Sequence[object]) -> bool:
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)


def _counted(counts: Sequence[int]) -> str:
    return " x ".join(map(str, counts))
