"""Checkpoints of a run in memory: copied from an encoder, put back, and changed once training has ended."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from torch import Tensor

from cseb.encoder.encoder import Encoder
from cseb.encoder.interface import Text
from cseb.training.build import Built

State = dict[str, Tensor]


@dataclass(frozen=True, slots=True)
class Trained:
    """Two checkpoints of one run: `best` by the dev set (the last one where there is none), and `last`."""

    best: State
    last: State
    best_step: int
    curve: tuple[tuple[int, float, float | None], ...]  # one entry per evaluation interval
    notes: tuple[str, ...] = ()  # what the views found in these sentences, and how the first training stage ended


def snapshot(encoder: Encoder) -> State:
    """Return a copy of what embeddings depend on, without the MLM head and other weights for training alone."""
    modules = ("backbone.", "pooler.", "head.", "post.")
    return {name: value.detach().clone() for name, value in encoder.state_dict().items() if name.startswith(modules)}


def changed(trained: Trained, change: Callable[[State], State]) -> Trained:
    """Return both checkpoints, changed; if they share their memory, they still do."""
    last = change(trained.last)
    return replace(trained, best=last if trained.best is trained.last else change(trained.best), last=last)


def finished(built: Built, start: State, trained: Trained, texts: Sequence[Text]) -> Trained:
    """Return both checkpoints with tuned weights merged into the encoder's, then mixed by the method's mixer."""
    mixer, tuning = built.mixer, built.tuning
    if tuning is not None:
        for encoder in filter(None, (built.encoder, built.second)):
            tuning.detach(encoder)
        start, trained = tuning.plain(start), changed(trained, tuning.plain)
    if mixer is None:
        return trained

    def mixed(state: State) -> State:
        restore(built.encoder, mixer(start, state))
        built.encoder.fit(texts)
        return snapshot(built.encoder)

    return changed(trained, mixed)


def restore(encoder: Encoder, state: State) -> None:
    """Put a checkpoint of `Trained` back into its encoder."""
    encoder.load_state_dict(state, strict=False)
