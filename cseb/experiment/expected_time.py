"""How long jobs are likely to take, from how long their pieces took when they were timed. No torch here."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from statistics import fmean, median
from typing import NamedTuple, Self

from cseb.experiment.job import Job


class Span(NamedTuple):
    """Seconds: the likely number, and between which two it lies unless something else slows the machine down."""

    likely: float
    low: float
    high: float

    @classmethod
    def of(cls, seconds: Sequence[float]) -> Self:
        """What jobs like this one took."""
        return cls(fmean(seconds), min(seconds), max(seconds))

    def times(self, factor: float, low: float = 1.0, high: float = 1.0) -> Span:
        """So many times as long, the ends further apart by factors of their own."""
        return Span(self.likely * factor, self.low * factor * low, self.high * factor * high)


@dataclass(frozen=True, slots=True, eq=False)
class Probe:
    """A job to be timed. sentences: to train on, fewer than its own. texts: some of those its tasks encode.

    looked: how many distinct sentences are encoded whenever training is looked at.
    """

    job: Job
    sentences: Sequence[str]
    texts: Sequence[str]
    looked: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """Seconds of the pieces of a job on this machine, while as many others ran beside it as there are workers.

    steps: each training step of a whole batch that was timed, () where nothing is trained. stages: all models trained
    first, to their last step. token: tokenising one line of the corpus in all its views. sentence:
    encoding one test sentence. fit: what is fitted after training, without encoding. tasks: scoring vectors of all
    tasks. encoders: how many are looked at on the dev set. fitted: on how many texts of a line of the corpus something
    is fitted, 0 where nothing is.
    """

    steps: tuple[float, ...]
    stages: float
    token: float
    sentence: float
    fit: float
    tasks: float
    encoders: int
    fitted: int

    @classmethod
    def mean(cls, found: Sequence[Timed]) -> Timed:
        """Of the same job, timed by several processes."""
        numbers = {
            name: fmean(getattr(one, name) for one in found) for name in ("stages", "token", "sentence", "fit", "tasks")
        }
        steps = tuple(sorted(step for one in found for step in one.steps))
        return cls(**numbers, steps=steps, encoders=found[0].encoders, fitted=found[0].fitted)

    @classmethod
    def read(cls, held: object) -> Timed | None:
        """What `dataclasses.asdict` and JSON have made of one; None if it is anything else."""
        if not isinstance(held, dict) or held.keys() != {one.name for one in fields(cls)}:
            return None
        steps, others = held["steps"], [held[name] for name in held if name != "steps"]
        if not isinstance(steps, list) or not all(
            isinstance(one, int | float) and math.isfinite(one) and one >= 0 for one in (*steps, *others)
        ):
            return None
        return cls(**{**held, "steps": tuple(steps)})


@dataclass(frozen=True, slots=True)
class Estimates:
    """How long jobs take that are like none before, by key.

    timed: methods that were timed on this machine, now or earlier. guessed: those judged by them, for want of time.
    unknown: methods that could not be timed, and why.
    """

    spans: Mapping[str, Span] = field(default_factory=dict)
    timed: tuple[str, ...] = ()
    guessed: tuple[str, ...] = ()
    unknown: Mapping[str, str] = field(default_factory=dict)


def expected(job: Job, timed: Timed, tested: int, looked: int) -> Span:
    """Seconds of a whole job. tested, looked: distinct sentences of the test tasks, and of what is scored meanwhile.

    The best checkpoint may be the last one, which is then scored once: nobody knows before, so the ends are one and
    two scorings where there is something to choose.
    """
    recipe = job.recipe
    looks = math.ceil(recipe.steps / recipe.eval_every)
    seen = min(job.size, recipe.steps * recipe.batch_size)
    fits = (looks * timed.encoders or 1) if timed.fitted else 0
    fitted = fits * (timed.fit + job.size * timed.fitted * timed.sentence)
    fixed = timed.stages + seen * timed.token + fitted
    fixed += looks * timed.encoders * looked * timed.sentence
    score = tested * timed.sentence + timed.tasks
    twice = looks > 1 and bool(job.protocol.dev)
    low, likely, high = (1.0, 1.5, 2.0) if twice else (1.0, 1.0, 1.0)
    steps = recipe.steps * _filled(job)
    fastest, typical, slowest = _three(timed.steps)
    return Span(
        fixed + steps * typical + likely * score,
        fixed + steps * fastest + low * score,
        fixed + steps * slowest + high * score,
    )


def _filled(job: Job) -> float:
    """How full batches are on average: the last one of an epoch may hold what is left."""
    recipe = job.recipe
    if recipe.last_batch == "drop":
        return 1.0
    return job.size / (recipe.batch_size * math.ceil(job.size / recipe.batch_size))


def _three(steps: Sequence[float]) -> tuple[float, float, float]:
    return (min(steps), median(steps), max(steps)) if steps else (0.0, 0.0, 0.0)


def makespan(seconds: Iterable[float], workers: int) -> float:
    """When the last job ends, if each is taken in this order by the next of so many workers that is free."""
    free = [0.0] * max(1, workers)
    for one in seconds:
        heapq.heapreplace(free, free[0] + one)
    return max(free)
