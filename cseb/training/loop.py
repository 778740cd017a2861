"""The training loop: a batch, its loss, one update, the memory, evaluation on the dev set at intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch
from accelerate import Accelerator
from torch import Tensor
from torch.optim.lr_scheduler import LambdaLR

from cseb.encoder.distributed import DistributedContext, distributed_context
from cseb.encoder.encoder import Encoder
from cseb.encoder.interface import Text
from cseb.encoder.random_streams import RandomStreams, TermGenerators, random_stream
from cseb.encoder.tokenizer import Tokens
from cseb.methods.recipe import Recipe
from cseb.parts import NeedsPrecomputedTargets
from cseb.records.progress import Progress
from cseb.training.batches import Feed, texts_of
from cseb.training.build import Built
from cseb.training.checkpoints import EarlyStopper, State, Trained, finished, held_out, restore, snapshot
from cseb.training.devices import accelerator_of, check_memory, check_precision
from cseb.training.objective import Objective
from cseb.training.optimisers import optimizer_of, rate

READ_EVERY = 10  # steps between two reads of the loss; each read waits for the device


class Diverged(Exception):
    """The loss is not finite; the job ends here with a failed record."""

    def __init__(self, step: int, reason: str) -> None:
        super().__init__(reason)
        self.step, self.reason = step, reason


def train(
    built: Built,
    sentences: Sequence[str],
    seed: int,
    device: str,
    select: Callable[[Encoder], float | None] | None,
    watch: Callable[[Progress], None],
) -> Trained:
    """Train the encoder of `built` in place on these sentences.

    select: returns the dev score of an encoder; None if no checkpoint is selected. Raises: Diverged, BadSpec,
    DeviceMissing, TrainingFailed. All randomness comes from the named streams of the seed.
    """
    recipe, encoder = built.recipe, built.encoder
    validation, sentences = held_out(sentences, built.until)
    texts = texts_of(built.views, sentences)
    accelerator = accelerator_of(device, recipe.precision)
    check_precision(device, recipe.eval_precision, "eval_precision")
    encoders = [each for each in (encoder, built.second, built.peer) if each is not None]
    check_memory(accelerator.device, encoders)
    distributed = distributed_context()
    for each in encoders:
        each.distributed, each.eval_precision = distributed, recipe.eval_precision
        each.to(accelerator.device)  # before anything is encoded, fitted or copied
        each.count(texts)
    if recipe.steps == 0:
        encoder.fit(texts)
        state = snapshot(encoder)
        return Trained(state, state, 0, ())
    start = snapshot(encoder) if built.mixer is not None else {}
    feed = Feed(built.views, encoder, recipe, sentences, seed, accelerator.device)
    stages, notes = _first_stages(built, sentences, feed.tokens[:2], seed, device, select)
    if built.outside is not None:
        assert built.teacher is not None
        stages.append(built.outside.targets(built.teacher, feed.texts))
    for weighted in built.terms:
        if isinstance(weighted.term, NeedsPrecomputedTargets) and stages:
            weighted.term.precompute_targets(stages)
    objective = Objective(built, distributed).to(accelerator.device).train()
    if built.memory is not None:
        built.memory.start(encoder, feed.sentences)
    updates = Updates(accelerator, objective, recipe)
    generators = TermGenerators(seed, accelerator.device)
    patience = None if built.until is None else EarlyStopper(built, objective, validation, seed, accelerator.device)
    with RandomStreams(seed, accelerator.device, distributed.rank):
        candidates = [encoder] if built.second is None else [encoder, built.second]
        monitor = _Monitor(recipe, select, candidates, watch, distributed, texts)
        for step, batch in enumerate(feed, 1):
            with random_stream("memory"):
                queue = built.memory.negatives(batch.sids) if built.memory is not None else None
            frozen = [[view[batch.rows].to(accelerator.device) for view in stage] for stage in stages]
            loss = updates.model(batch, queue, generators, frozen)
            updates.step(loss)
            if built.memory is not None:
                ids, mask, _, anchor = (field[: len(batch.rows)] for field in batch.fields)
                with random_stream("memory"), accelerator.autocast():
                    built.memory.remember(encoder, ids, mask, anchor, batch.sids, distributed)
            last = step == recipe.steps or (patience is not None and patience.stops_at(step, loss.detach()))
            monitor.after(step, loss.detach(), last)
            if last:
                break
    trained = monitor.trained((*getattr(built.views, "notes", ()), *notes, *updates.notes(monitor.step)))
    return finished(built, start, trained, texts)


def _first_stages(
    built: Built,
    sentences: Sequence[str],
    tokens: Sequence[Tokens],
    seed: int,
    device: str,
    select: Callable[[Encoder], float | None] | None,
) -> tuple[list[list[Tensor]], list[str]]:
    """Train the frozen teachers of the first stage; return their vectors (N, D) of each view, and how training ended.

    The dev set selects their checkpoints too, unless they stop by a rule of their own. Every process evaluates, so that
    all have the same vectors.
    """
    stages, notes = [], []
    for number, make in enumerate(built.first_stage, 1):
        name = f"first training stage, model {number} of {len(built.first_stage)}"
        try:
            first = make()
            trained = train(first, sentences, seed, device, None if first.until else select, lambda progress: None)
        except Diverged as error:
            raise Diverged(error.step, f"{name}: {error.reason}") from None
        restore(first.encoder, trained.best)
        vectors = {id(view): torch.from_numpy(first.encoder.vectors(view, built.frozen_head)) for view in tokens}
        stages.append([vectors[id(view)] for view in tokens])
        notes.append(f"{name}: final loss {trained.curve[-1][1]:.4g}, checkpoint of step {trained.best_step}")
    return stages, notes


class Updates:
    """The objective prepared by Accelerate for devices and processes, with its optimiser and schedule.

    skipped: updates left out because an fp16 gradient overflowed.
    """

    def __init__(self, accelerator: Accelerator, objective: Objective, recipe: Recipe) -> None:
        self.accelerator, self.objective, self.recipe = accelerator, objective, recipe
        optimizer = optimizer_of(objective, recipe)
        self.schedule = LambdaLR(optimizer, lambda step: rate(recipe, step))
        self.model, self.optimizer = accelerator.prepare(objective, optimizer)
        self.skipped = 0

    def step(self, loss: Tensor) -> None:
        """Update every weight once from the gradient of `loss` (scalar)."""
        self.accelerator.backward(loss)
        if self.recipe.clip:
            self.accelerator.clip_grad_norm_(self.objective.parameters(), self.recipe.clip)
        self.optimizer.step()
        if self.accelerator.optimizer_step_was_skipped:  # the schedule counts updates, as Accelerate's own does
            self.skipped += 1
        else:
            self.schedule.step()
        self.optimizer.zero_grad(set_to_none=True)

    def notes(self, step: int) -> list[str]:
        """Return what the record must say of the first `step` updates."""
        if not self.skipped:
            return []
        return [f"{self.skipped} of {step} updates were skipped because fp16 gradients overflowed"]


class _Monitor:
    """Read losses, evaluate on the dev set, store the best checkpoint.

    encoders: the candidates for the result; the dev set selects among them too, without one it is the last of them.
    """

    def __init__(
        self,
        recipe: Recipe,
        select: Callable[[Encoder], float | None] | None,
        encoders: Sequence[Encoder],
        watch: Callable[[Progress], None],
        distributed: DistributedContext,
        texts: Sequence[Text],
    ) -> None:
        self.recipe, self.select, self.encoders, self.watch = recipe, select, encoders, watch
        self.distributed = distributed
        self.texts = texts
        self.pending: list[Tensor] = []
        self.interval: list[float] = []
        self.curve: list[tuple[int, float, float | None]] = []
        self.best: tuple[float, int, State] | None = None
        self.step = 0

    def after(self, step: int, loss: Tensor, last: bool) -> None:
        """Record one step's loss; evaluate when it is time. Raises: Diverged."""
        self.pending.append(loss)
        self.step = step
        evaluate = last or step % self.recipe.eval_every == 0
        if not evaluate and step % READ_EVERY:
            return
        read = self.distributed.mean(torch.stack(self.pending).float()).tolist()
        for offset, value in enumerate(read):
            if not math.isfinite(value):
                raise Diverged(step - len(read) + 1 + offset, f"the loss is {value}")
        self.interval += read
        self.pending = []
        dev = self._evaluate(step) if evaluate else None
        self.watch(Progress("", step, self.recipe.steps, sum(read) / len(read), dev))

    def _evaluate(self, step: int) -> float | None:
        for encoder in self.encoders:
            encoder.fit(self.texts)
        scores = [None if self.select is None else self.select(encoder) for encoder in self.encoders]
        scored = [(dev, encoder) for dev, encoder in zip(scores, self.encoders, strict=True) if dev is not None]
        dev, encoder = max(scored, key=lambda pair: pair[0], default=(None, self.encoders[-1]))
        self.curve.append((step, sum(self.interval) / len(self.interval), dev))
        self.interval = []
        if dev is not None and (self.best is None or dev > self.best[0]):
            self.best = (dev, step, snapshot(encoder))
        return dev

    def trained(self, notes: tuple[str, ...]) -> Trained:
        """Return both checkpoints."""
        last = snapshot(self.encoders[-1])
        _, step, best = self.best or (0.0, self.step, last)
        shared = step == self.step and len(self.encoders) == 1  # one copy in memory is enough
        if self.curve and not any(loss for _, loss, _ in self.curve):  # such as a contrast in batches of one sentence
            notes = (*notes, "the loss was 0 in every step, so the encoder learned nothing; try larger batches")
        return Trained(best, best if shared else last, step, tuple(self.curve), notes)
