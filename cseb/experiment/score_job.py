"""The scores of one job: both checkpoints on every task, and what was scored before is not scored again."""

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

Scored = tuple[list[Score], dict[str, Items]]


class _Untrained(NamedTuple):
    """All that the vectors and the scores of an untrained encoder depend on.

    weights: a digest, since the weights of a head are drawn from the seed.
    """

    encoder: Source
    weights: str
    method: str
    protocol: object
    tasks: str
    data_dir: str
    linear: str


@lru_cache(maxsize=4)
def _scored_before(what: _Untrained) -> dict[str, Scored]:
    """Where the scores of this encoder are kept in this process: empty at first."""
    return {}


def scored_checkpoints(job: Job, built: Built, trained: Trained, tasks: list[tuple[Task, Loaded]]) -> Scored:
    """Scores and items of the best and the last checkpoint; encoded once where they are the same.

    The untrained rows of a grid have the same weights with every seed and subset: the first job of a process scores
    them, and the others take its scores. Post-processing is fitted to the subset, so that these are always scored.
    """
    encoder = built.encoder
    if built.recipe.steps or encoder.post is not None:
        return _both(encoder, trained, tasks)
    digest = blake2b()
    for name, weights in sorted(trained.last.items()):
        digest.update(name.encode())
        digest.update(weights.reshape(-1).view(torch.uint8).numpy(force=True).tobytes())
    names = ",".join(versioned(task) for task, _ in tasks)
    kept = _scored_before(
        _Untrained(
            job.encoder, digest.hexdigest(), job.method.resolved(), job.protocol, names, job.data_dir, linear.taken()
        )
    )
    if "both" not in kept:
        kept["both"] = _both(encoder, trained, tasks)
    found = kept["both"]
    if encoder.reduction > 1:  # for want of memory: the record of this job says so, the others would not
        kept.clear()
    return found


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
    outcomes = score_all(tasks, encoder.embed)
    scores: list[Score] = []
    items: dict[str, Items] = {}
    for (task, _), (outcome, each) in zip(tasks, outcomes, strict=True):
        scores.append(score_of(task, outcome, each, select))
        items[f"{versioned(task)}/{select}"] = each
    return scores, items


def score_of(task: Task, outcome: Outcome, items: Items, select: Select) -> Score:
    """One task's outcome as a record holds it."""
    return Score(
        task=versioned(task),
        protocol=task.protocol,
        select=select,
        value=outcome.value,
        detail=outcome.detail,
        items=len(items),
    )
