"""The only training loop: views, encode, terms, backward, memory, a look at the dev set now and then."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from accelerate import Accelerator
from accelerate.state import AcceleratorState
from torch import Generator, Tensor, nn
from torch.optim import AdamW, Optimizer, RMSprop
from torch.optim.lr_scheduler import LambdaLR

from cseb.build import Built, Weighted, groups
from cseb.data.tokens import Tokens
from cseb.encoder import Encoder, tensors
from cseb.errors import BadSpec
from cseb.parts import Composer, EncodedView, Paired, Queued, Redrawn, Rows, Step, Text, View
from cseb.recipe import Recipe
from cseb.streams import DROPOUT, ORDER, TERMS, VIEWS, Seed, stream_seed

LOOK = 10  # steps between two reads of the loss; each read waits for the device
GROUP = 50  # batches sorted by length together when padding is "grouped"

State = dict[str, Tensor]


class Diverged(Exception):
    """The loss is no finite number; the job ends here and says so in its record."""

    def __init__(self, step: int, reason: str) -> None:
        super().__init__(reason)
        self.step, self.reason = step, reason


@dataclass(frozen=True, slots=True)
class Look:
    """A glance at a running job. loss: mean since the last glance. dev: points, at the end of an interval."""

    step: int
    loss: float
    dev: float | None


@dataclass(frozen=True, slots=True)
class Trained:
    """Two checkpoints of one run: `best` by the dev set (the last one where there is none), and `last`."""

    best: State
    last: State
    best_step: int
    curve: tuple[tuple[int, float, float | None], ...]  # one entry per evaluation interval
    notes: tuple[str, ...] = ()  # what the views found in these sentences, and how the first stage ended


class Objective(nn.Module):
    """Encoders and terms as one module, so that whatever wraps it for devices and processes sees every weight."""

    def __init__(
        self,
        encoder: Encoder,
        terms: Sequence[Weighted],
        second: Encoder | None = None,
        compose: Composer | None = None,
        groups: Sequence[int] = (),
    ) -> None:
        super().__init__()
        self.encoder, self.second, self.compose, self.groups = encoder, second, compose, groups
        self.terms = nn.ModuleList([weighted.term for weighted in terms if isinstance(weighted.term, nn.Module)])
        self.weighted = tuple(terms)

    def forward(
        self,
        batch: tuple[Tensor, ...],
        views: int,
        queue: Queued | None,
        rng: Generator,
        frozen: Sequence[Sequence[Tensor]] = (),
        same: Tensor | None = None,
    ) -> Tensor:
        """The weighted sum of all terms over `views` blocks of B rows each. frozen, same: see parts.Step."""
        encoded = self._encoded(batch, views)
        if self.compose is not None:
            encoded = self.compose(encoded, self.groups, self.encoder.head)
        step = Step(encoded, rng, queue, self.encoder.language, frozen, self.encoder.read, same)
        return torch.stack([weighted.weight * weighted.term(step) for weighted in self.weighted]).sum()

    def _encoded(self, batch: tuple[Tensor, ...], views: int) -> Sequence[EncodedView]:
        if self.second is None:
            return _split(self.encoder(*batch), views)
        blocks = zip(*(field.chunk(views) for field in batch), strict=True)
        return [(self.second if number else self.encoder)(*block) for number, block in enumerate(blocks)]


def train(
    built: Built,
    sentences: Sequence[str],
    seed: Seed,
    device: str,
    select: Callable[[Encoder], float | None] | None,
    watch: Callable[[Look], None],
) -> Trained:
    """Train the encoder of `built` in place on these sentences.

    select: dev points of the encoder as it stands, or None where nothing may be chosen. Randomness comes from the
    seed's named streams alone. Raises: Diverged.
    """
    recipe, encoder = built.recipe, built.encoder
    if recipe.steps == 0:
        state = _snapshot(encoder)
        return Trained(state, state, 0, ())
    texts = built.views(sentences)
    _compare(built.terms, len(groups(built.views)) or len(texts))
    cut = {id(text): encoder.tokenise(text, recipe.max_length) for text in texts}
    tokens = [cut[id(text)] for text in texts]
    prompt = encoder.prompt_tokens()
    stages, notes = [], []
    for number, make in enumerate(built.stages, 1):
        try:
            vectors, loss = _stage(make(), sentences, tokens[:2], seed, device)
        except Diverged as error:
            raise Diverged(error.step, f"first stage, model {number} of {len(built.stages)}: {error.reason}") from None
        stages.append(vectors)
        notes.append(f"first stage, model {number} of {len(built.stages)}: loss {loss:.4g} at its end")
    AcceleratorState._reset_state(reset_partial_state=True)  # a worker runs jobs of different precision in turn
    accelerator = Accelerator(cpu=device == "cpu", mixed_precision=recipe.precision.replace("fp32", "no"))
    objective = Objective(encoder, built.terms, built.second, built.compose, groups(built.views))
    objective = objective.to(accelerator.device).train()
    optimizer = _optimizer(objective, recipe)
    schedule = LambdaLR(optimizer, lambda step: rate(recipe, step))
    if built.memory is not None:
        built.memory.start(encoder, len(tokens[0]))
    model, optimizer = accelerator.prepare(objective, optimizer)
    rng = Generator(accelerator.device).manual_seed(stream_seed(seed, TERMS))
    order, draws = (np.random.Generator(np.random.PCG64(stream_seed(seed, name))) for name in (ORDER, VIEWS))
    with torch.random.fork_rng(devices=range(torch.cuda.device_count()) if device == "cuda" else []):
        torch.manual_seed(stream_seed(seed, DROPOUT))  # dropout layers draw from torch's own generator
        watcher = _Watcher(recipe, select, [encoder] if built.second is None else [encoder, built.second], watch)
        for step, rows in enumerate(batches(tokens[0].lengths(), recipe, order), 1):
            length = recipe.max_length + prompt if recipe.padding == "fixed" else 0
            others, fresh = _last_view(built.views, encoder, texts[-1], rows, recipe.max_length, draws)
            length = max(length, encoder.shortest)
            batch, sids = _views(tokens, rows, length, accelerator.device, others, fresh)
            same = None if others is rows else torch.from_numpy(others == rows).to(accelerator.device)
            queue = built.memory.negatives(sids) if built.memory is not None else None
            frozen = [[view[rows].to(accelerator.device) for view in stage] for stage in stages]
            loss = model(batch, len(tokens), queue, rng, frozen, same)
            accelerator.backward(loss)
            if recipe.clip:
                accelerator.clip_grad_norm_(objective.parameters(), recipe.clip)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad(set_to_none=True)
            if built.memory is not None:
                ids, mask, _, anchor = (field[: len(rows)] for field in batch)
                built.memory.remember(encoder, ids, mask, anchor, sids)
            watcher.after(step, loss.detach())
    return watcher.trained((*getattr(built.views, "notes", ()), *notes))


def _stage(
    built: Built, sentences: Sequence[str], tokens: Sequence[Tokens], seed: Seed, device: str
) -> tuple[list[Tensor], float]:
    """Train a model of the first stage; what remains are its vectors (N, D) of these views, and its last loss."""
    trained = train(built, sentences, seed, device, None, lambda look: None)
    found = {id(view): torch.from_numpy(built.encoder.vectors(view, with_head=True)) for view in tokens}
    return [found[id(view)] for view in tokens], trained.curve[-1][1]


def _compare(terms: Sequence[Weighted], views: int) -> None:
    """Raises: BadSpec if a term compares more views than there are."""
    for weighted in terms:
        if (needed := getattr(weighted.term, "views", 1)) > views:
            raise BadSpec(
                f"{weighted.name} compares {needed} views of a sentence; this method's view maker gives {views}"
            )


def _optimizer(objective: nn.Module, recipe: Recipe) -> Optimizer:
    weights, rate, decay = objective.parameters(), recipe.learning_rate, recipe.weight_decay
    if recipe.optimizer == "rmsprop":
        return RMSprop(weights, lr=rate, alpha=0.9, eps=1e-7, weight_decay=decay)
    return AdamW(weights, lr=rate, weight_decay=decay, fused=True)


def rate(recipe: Recipe, step: int) -> float:
    """The share of the learning rate in force for update `step` (from 0): a ramp, then what the schedule says."""
    if step < recipe.warmup:
        return step / recipe.warmup
    if recipe.schedule == "constant":
        return 1.0
    if recipe.schedule == "piecewise":
        return [share for start, share in recipe.pieces if start <= step][-1]
    return max(0.0, (recipe.steps - step) / max(1, recipe.steps - recipe.warmup))


def batches(
    lengths: npt.NDArray[np.int64], recipe: Recipe, rng: np.random.Generator
) -> Iterator[npt.NDArray[np.int64]]:
    """Row numbers (B,) of `recipe.steps` batches: epoch after epoch, each sentence at most once in an epoch.

    A subset smaller than one batch is a batch of its own, also where incomplete batches are dropped.
    """
    done = 0
    while done < recipe.steps:
        order = rng.permutation(len(lengths))
        starts = list(range(0, len(order), recipe.batch_size))
        if recipe.last_batch == "drop" and len(order) % recipe.batch_size and len(starts) > 1:
            starts.pop()
        if recipe.padding == "grouped":
            order = _grouped(order, lengths, recipe.batch_size)
            starts = [starts[i] for i in rng.permutation(len(starts))]
        for start in starts[: recipe.steps - done]:
            yield order[start : start + recipe.batch_size]
        done += len(starts)


def _grouped(order: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64], batch_size: int) -> npt.NDArray[np.int64]:
    """Within every run of GROUP batches, like lengths side by side: less padding, batches still differ by epoch."""
    size = GROUP * batch_size
    runs = [order[start : start + size] for start in range(0, len(order), size)]
    return np.concatenate([run[np.argsort(lengths[run], kind="stable")] for run in runs])


def _last_view(
    views: View, encoder: Encoder, texts: Sequence[Text], rows: Rows, longest: int, rng: np.random.Generator
) -> tuple[Rows, Tokens | None]:
    """Whose sentences stand in the last view of this batch, and their tokens where those are drawn anew."""
    others = views.pair(rows, len(texts), rng) if isinstance(views, Paired) else rows
    if not isinstance(views, Redrawn):
        return others, None
    chosen = [text for text in (texts[i] for i in others) if isinstance(text, str)]  # what is redrawn is text, not ids
    return others, views.redraw(encoder, chosen, longest, rng)


def _views(
    tokens: Sequence[Tokens], rows: Rows, length: int, device: torch.device, others: Rows, fresh: Tokens | None
) -> tuple[tuple[Tensor, ...], Tensor]:
    """All views of a batch stacked, (V B, T) each, padded alike, and the sentence ids (B,). See _last_view."""
    last = (tokens[-1], others) if fresh is None else (fresh, np.arange(len(rows)))
    blocks = [*((view, rows) for view in tokens[:-1]), last]
    widest = max(length, *(int(view.lengths()[chosen].max()) for view, chosen in blocks))
    padded = {(id(view), id(chosen)): tensors(view.batch(chosen, widest), device) for view, chosen in blocks}
    stacked = zip(*(padded[id(view), id(chosen)] for view, chosen in blocks), strict=True)
    return tuple(torch.cat(blocks) for blocks in stacked), torch.from_numpy(rows).to(device)


def _split(view: EncodedView, views: int) -> list[EncodedView]:
    """One encoded block of V B rows as V views of B rows."""
    pieces: list[Sequence[Any]] = []
    for field in fields(EncodedView):
        value = getattr(view, field.name)
        if isinstance(value, Tensor):
            pieces.append(value.chunk(views))
        else:
            layers = [layer.chunk(views) for layer in value]
            pieces.append([tuple(layer[i] for layer in layers) for i in range(views)])
    return [EncodedView(*(piece[i] for piece in pieces)) for i in range(views)]


def _snapshot(encoder: Encoder) -> State:
    """What `embed` depends on, copied; the language head and other weights of training alone are left out."""
    kept = {"backbone", "pooler", "head"}
    return {name: value.detach().clone() for name, value in encoder.state_dict().items() if name.split(".")[0] in kept}


def restore(encoder: Encoder, state: State) -> None:
    """Put a checkpoint of `Trained` back into its encoder."""
    encoder.load_state_dict(state, strict=False)


class _Watcher:
    """Reads losses, asks for dev points, keeps the best checkpoint.

    encoders: those that could be the result; the dev set chooses among them too, without one it is the last of them.
    """

    def __init__(
        self,
        recipe: Recipe,
        select: Callable[[Encoder], float | None] | None,
        encoders: Sequence[Encoder],
        watch: Callable[[Look], None],
    ) -> None:
        self.recipe, self.select, self.encoders, self.watch = recipe, select, encoders, watch
        self.pending: list[Tensor] = []
        self.interval: list[float] = []
        self.curve: list[tuple[int, float, float | None]] = []
        self.best: tuple[float, int, State] | None = None

    def after(self, step: int, loss: Tensor) -> None:
        """Note one step's loss; look when it is time. Raises: Diverged."""
        self.pending.append(loss)
        evaluate = step % self.recipe.eval_every == 0 or step == self.recipe.steps
        if not evaluate and step % LOOK:
            return
        read = torch.stack(self.pending).float().tolist()
        for offset, value in enumerate(read):
            if not math.isfinite(value):
                raise Diverged(step - len(read) + 1 + offset, f"the loss is {value}")
        self.interval += read
        self.pending = []
        dev = self._evaluate(step) if evaluate else None
        self.watch(Look(step, sum(read) / len(read), dev))

    def _evaluate(self, step: int) -> float | None:
        points = [None if self.select is None else self.select(encoder) for encoder in self.encoders]
        told = [(dev, encoder) for dev, encoder in zip(points, self.encoders, strict=True) if dev is not None]
        dev, encoder = max(told, key=lambda one: one[0], default=(None, self.encoders[-1]))
        self.curve.append((step, sum(self.interval) / len(self.interval), dev))
        self.interval = []
        if dev is not None and (self.best is None or dev > self.best[0]):
            self.best = (dev, step, _snapshot(encoder))
        return dev

    def trained(self, notes: tuple[str, ...]) -> Trained:
        """Both checkpoints."""
        last = _snapshot(self.encoders[-1])
        _, step, best = self.best or (0.0, self.recipe.steps, last)
        shared = step == self.recipe.steps and len(self.encoders) == 1  # one copy in memory is enough
        return Trained(best, best if shared else last, step, tuple(self.curve), notes)
