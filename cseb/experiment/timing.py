"""Time the pieces of a job: two steps or more, and sentences encoded as at test. Nothing of it is kept.

It is to run in a process of its own: what it draws and computes then has no part in any run.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import TypeVar

import numpy as np
import scipy.stats  # noqa: F401  # needed later, and it takes a second to load
import torch

from cseb.encoder import linear, linear_choice
from cseb.encoder.encoder import Encoder
from cseb.encoder.interface import Text
from cseb.experiment.expected_time import Probe, Timed
from cseb.experiment.train_job import loaded_tasks, task_names
from cseb.parts import EarlyStopping
from cseb.records.progress import Progress
from cseb.tasks.evaluate import is_live
from cseb.tasks.task import Embed, Loaded, Outcome, Task, Vectors
from cseb.training import loop
from cseb.training.batches import texts_a_line, texts_of
from cseb.training.build import Built, build

STEPS = 8  # at most; one goes before them, in which much happens for the first time
LONG = 1.0  # seconds of steps after which two are enough
WARM = 32  # sentences encoded first, and alone where that takes LONG

T = TypeVar("T")
Clock = Callable[[], float]


class _Enough(Exception):
    """Enough steps were timed."""


def timed(probe: Probe) -> Timed:
    """The pieces of a job, in seconds. Raises: CsebError, and whatever training raises."""
    job = probe.job
    torch.set_num_threads(job.protocol.threads)
    linear.take(linear_choice.resolved(job.linear, job.protocol.threads, job.protocol.device))
    clock = _clock(job.protocol.device, job.protocol.threads)
    built = build(job.method, Path(job.folder), job.random, job.trust_remote_code)
    encoder = built.encoder
    stage = built.stages[0]() if built.stages and built.recipe.steps else None
    short = tuple((lambda: _shortened(stage, 1)) if stage else one for one in built.stages)
    steps = _steps(replace(built, stages=short), probe, clock) if built.recipe.steps else ()
    encoder.to(job.protocol.device)
    sentence = _sentence(encoder, probe.texts, clock)
    first = 0.0
    if stage is not None:
        recipe = stage.recipe
        looks = 0 if stage.until else math.ceil(recipe.steps / recipe.eval_every)
        one = recipe.steps * float(np.median(_steps(stage, probe, clock))) + looks * probe.looked * sentence
        first = len(built.stages) * one
    texts, inside = texts_of(built.views, probe.sentences), texts_a_line(built.views)
    tokenising, _ = _clocked(lambda: encoder.tokenise(texts, built.recipe.max_length), clock)
    return Timed(
        steps=steps,
        stages=first,
        token=built.views.views / inside * tokenising / len(probe.sentences),
        sentence=sentence,
        fit=_fit(encoder, texts, sentence, clock),
        tasks=_tasks(task_names(job), job.data_dir, int(encoder.config.hidden_size), clock),
        encoders=1 if built.second is None else 2,
        fitted=0 if encoder.post is None else inside,
    )


def _steps(built: Built, probe: Probe, clock: Clock) -> tuple[float, ...]:
    """Seconds of each timed step, at least one."""
    stamps: list[float] = []

    def watch(_: Progress) -> None:
        stamps.append(clock())
        if len(stamps) > 1 and (len(stamps) > STEPS or stamps[-1] - stamps[0] > LONG):
            raise _Enough

    job, post = probe.job, built.encoder.post
    built.encoder.post = None  # it would be fitted at every step that is looked at
    try:
        loop.train(_shortened(built, STEPS + 1), probe.sentences, job.random, job.protocol.device, None, watch)
    except _Enough:
        pass
    finally:
        built.encoder.post = post
    return tuple(np.diff(stamps).tolist())


def _shortened(built: Built, steps: int) -> Built:
    """So many steps, each of them looked at, and no rule that ends them."""
    until: EarlyStopping | None = None
    return replace(built, recipe=replace(built.recipe, steps=steps, warmup=0, eval_every=1), until=until)


def _sentence(encoder: Encoder, texts: Sequence[str], clock: Clock) -> float:
    """Seconds to encode one test sentence, 0 where none is."""
    if not texts:
        return 0.0

    def encode(some: Sequence[str]) -> Vectors:
        return encoder.vectors(encoder.tokenise(some, encoder.limit()), encoder.head.keep)

    warm = texts[:: max(1, len(texts) // WARM)]
    took, _ = _clocked(lambda: encode(warm), clock)
    if took > LONG:
        return took / len(warm)
    took, _ = _clocked(lambda: encode(texts), clock)
    return took / len(texts)


def _fit(encoder: Encoder, texts: Sequence[Text], sentence: float, clock: Clock) -> float:
    """Seconds of a fit after training, without encoding; one by steps of its own is cut short and scaled up."""
    post = encoder.post
    if post is None:
        return 0.0
    whole = getattr(post, "steps", None)
    if whole is not None:
        post.steps = min(whole, STEPS)  # type: ignore[attr-defined]
    took, _ = _clocked(lambda: encoder.fit(texts), clock)
    alone = max(0.0, took - len(texts) * sentence)
    return alone * whole / STEPS if whole is not None and whole > STEPS else alone


@lru_cache(maxsize=16)  # the same for all methods
def _tasks(names: str, data_dir: str, width: int, clock: Clock) -> float:
    """Seconds that the tasks take once sentences are encoded: the smallest of each protocol is scored, others scaled.

    Tasks that call the encoder themselves are left out.
    """
    kinds: dict[str, list[tuple[Task, Loaded]]] = {}
    for task, loaded in loaded_tasks(names, data_dir) if names else ():
        if not is_live(loaded):
            kinds.setdefault(task.protocol, []).append((task, loaded))
    total = 0.0
    for alike in kinds.values():
        sizes = [len(loaded.sentences()) for _, loaded in alike]
        loaded = alike[int(np.argmin(sizes))][1]
        embed = _words(width)
        embed(loaded.sentences())  # each word is drawn once, before the clock starts
        took, _ = _clocked(partial(_scored, loaded, embed), clock)
        total += took * sum(sizes) / max(1, min(sizes))
    return total


def _scored(loaded: Loaded, embed: Embed) -> Outcome:
    return loaded.outcome(loaded.items(embed))


def _words(width: int) -> Callable[[Sequence[str]], Vectors]:
    """Vectors of the sums of random vectors of words: classifiers find as much to learn in them as in sentences."""
    rng, known = np.random.default_rng(0), dict[str, Vectors]()

    def embed(sentences: Sequence[str]) -> Vectors:
        found = np.zeros((len(sentences), width), dtype=np.float32)
        for row, sentence in enumerate(sentences):
            for word in sentence.lower().split():
                if word not in known:
                    known[word] = rng.standard_normal(width, dtype=np.float32) / math.sqrt(width)
                found[row] += known[word]
        return found

    return embed


def _clocked(do: Callable[[], T], clock: Clock) -> tuple[float, T]:
    """Seconds, and what came out."""
    before = clock()
    made = do()
    return clock() - before, made


def _clock(device: str, threads: int) -> Clock:
    """What tells the time of a job here.

    On one thread that of the processor, which says the same however busy the machine is with something else.
    """
    if device == "cpu" and threads == 1:
        return time.process_time
    return time.perf_counter if device == "cpu" else _settled


def _settled() -> float:
    """The time when a GPU has done what it was given."""
    torch.cuda.synchronize()
    return time.perf_counter()
