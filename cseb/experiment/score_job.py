"""The scores of one job: both checkpoints on every task."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from hashlib import blake2b
from typing import NamedTuple

import torch

from cseb.encoder import linear
from cseb.encoder.encoder import Encoder
from cseb.experiment.job import Job
from cseb.experiment.plan import versioned
from cseb.records.items import Items
from cseb.records.record import Score, Select, Source
from cseb.tasks.evaluate import score_all
from cseb.tasks.task import Loaded, Outcome, Task
from cseb.training.build import Built
from cseb.training.checkpoints import Trained, restore
from cseb.training.pair_tuning import tuner_of

Scored = tuple[list[Score], dict[str, Items]]


class _Untrained(NamedTuple):
    """All that the scores of an untrained encoder depend on. weights: a digest; a head's are drawn from the seed."""

    encoder: Source
    weights: str
    method: str
    protocol: object
    tasks: str
    data_dir: str
    linear: str


@lru_cache(maxsize=4)
def _scored_before(encoder: _Untrained) -> list[Scored]:
    """Return the list for the scores of this encoder in this process: empty at first."""
    return []


def scored_checkpoints(job: Job, built: Built, trained: Trained, tasks: list[tuple[Task, Loaded]]) -> Scored:
    """Return scores, and scores per example, of the best and the last checkpoint; one is scored if they are equal.

    Untrained methods have the same weights with every seed and subset: the first job of a process scores them.
    Post-processing is fitted to the subset, so that these are always scored.
    """
    encoder = built.encoder
    if built.recipe.steps or encoder.post is not None:
        return _both(encoder, trained, tasks)
    digest = blake2b()
    for name, weights in sorted(trained.last.items()):
        digest.update(name.encode())
        digest.update(weights.reshape(-1).view(torch.uint8).numpy(force=True).tobytes())
    names = ",".join(versioned(task) for task, _ in tasks)
    method, weights_digest = job.method.resolved(), digest.hexdigest()
    untrained = _Untrained(job.encoder, weights_digest, method, job.protocol, names, job.data_dir, linear.taken())
    cache = _scored_before(untrained)
    scored = cache[0] if cache else _both(encoder, trained, tasks)
    if encoder.reduction == 1:  # otherwise the record says that batches were smaller, and those of other jobs would not
        cache[:] = [scored]
    return scored


def _both(encoder: Encoder, trained: Trained, tasks: list[tuple[Task, Loaded]]) -> Scored:
    restore(encoder, trained.last)
    scores, items = _scores(encoder, tasks, "last")
    if trained.best is trained.last:
        best = [replace(score, select="best") for score in scores]
        best_items = {name.replace("/last", "/best"): values for name, values in items.items()}
    else:
        restore(encoder, trained.best)
        best, best_items = _scores(encoder, tasks, "best")
    return best + scores, best_items | items


def _scores(encoder: Encoder, tasks: list[tuple[Task, Loaded]], select: Select) -> Scored:
    outcomes = score_all(tasks, encoder.embed, tuner_of(encoder.embed))
    scores: list[Score] = []
    items: dict[str, Items] = {}
    for (task, _), (outcome, each) in zip(tasks, outcomes, strict=True):
        scores.append(score_of(task, outcome, each, select))
        items[f"{versioned(task)}/{select}"] = each
    return scores, items


def score_of(task: Task, outcome: Outcome, items: Items, select: Select) -> Score:
    """Return the outcome of a task as records have it."""
    return Score(
        task=versioned(task),
        protocol=task.protocol,
        select=select,
        value=outcome.value,
        detail=outcome.detail,
        items=len(items),
    )
