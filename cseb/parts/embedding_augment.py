"""Renderings of a view that differ by more than its tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn

from cseb.encoder.encoder import Encoder
from cseb.encoder.interface import EncodedView
from cseb.encoder.random_streams import random_stream


@contextmanager
def dropout_at(backbone: nn.Module, rate: float) -> Iterator[None]:
    """Set every dropout rate of the backbone to `rate` within this context."""
    own: list[tuple[nn.Module, str, float]] = []
    for module in backbone.modules():
        for name in ("p",) if isinstance(module, nn.Dropout) else ("attention_dropout",):
            value = getattr(module, name, None)  # a bare number in ModernBERT's attention, and 0 where so configured
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                own.append((module, name, value))
                setattr(module, name, rate)
    try:
        yield
    finally:
        for module, name, value in own:
            setattr(module, name, value)


@contextmanager
def positions_at(backbone: nn.Module, places: Tensor) -> Iterator[None]:
    """Set the positions (N, T) of the tokens within this context."""
    with backbone.register_forward_pre_hook(
        lambda module, inputs, options: (inputs, {**options, "position_ids": places}), with_kwargs=True
    ):
        yield


class Plain:
    """The encoder's ordinary rendering, and the base of renderings in which the encoder is changed meanwhile."""

    def changed(self, encoder: Encoder, mask: Tensor) -> AbstractContextManager[Any]:
        """Return the context in which sentences with this mask (B, T) are encoded."""
        return nullcontext()

    def __call__(self, encoder: Encoder, ids: Tensor, mask: Tensor, content: Tensor, anchor: Tensor) -> EncodedView:
        with self.changed(encoder, mask):
            view: EncodedView = encoder(ids, mask, content, anchor)
        return view


class AtRate(Plain):
    """Rendering with every dropout rate of the backbone at `rate`."""

    def __init__(self, rate: float) -> None:
        self.rate = rate

    def changed(self, encoder: Encoder, mask: Tensor) -> AbstractContextManager[Any]:
        return dropout_at(encoder.backbone, self.rate)


def cut_features(states: Tensor, mask: Tensor, rate: float) -> Tensor:
    """Zero a fraction of the coordinates of each sentence, at all tokens. states: (B, T, D), mask: (B, T)."""
    order = torch.rand(len(states), states.shape[2], device=states.device).argsort(dim=1)  # (B, D)
    return states * (order >= int(rate * states.shape[2])).to(states.dtype)[:, None, :]


def cut_tokens(states: Tensor, mask: Tensor, rate: float) -> Tensor:
    """Zero a fraction of the real tokens of each sentence. states: (B, T, D), mask: (B, T)."""
    rank = torch.rand(mask.shape, device=mask.device).masked_fill(mask == 0, 2.0).argsort(dim=1).argsort(dim=1)
    return states * (rank >= (rate * mask.sum(dim=1, keepdim=True)).long()).to(states.dtype)[:, :, None]


def shuffled_places(mask: Tensor) -> Tensor:
    """Return positions (B, T): those of real tokens in random order, those of padding unchanged."""
    later = 1.0 + torch.arange(mask.shape[1], device=mask.device)
    return torch.where(mask == 1, torch.rand(mask.shape, device=mask.device), later).argsort(dim=1)


class Cutoff(Plain):
    """Rendering with a fraction of the features or tokens zeroed behind the embedding layer."""

    def __init__(self, cut: Callable[[Tensor, Tensor, float], Tensor], rate: float) -> None:
        self.cut, self.rate = cut, rate

    def changed(self, encoder: Encoder, mask: Tensor) -> AbstractContextManager[Any]:
        embeddings: Any = encoder.backbone.embeddings
        return embeddings.register_forward_hook(  # type: ignore[no-any-return]
            lambda module, inputs, states: self._cut(states, mask)
        )

    def _cut(self, states: Tensor, mask: Tensor) -> Tensor:
        with random_stream("views"):
            return self.cut(states, mask, self.rate)


class PositionShuffle(Plain):
    """Rendering with the positions of all tokens shuffled, special ones included."""

    def __init__(self, first_position: int) -> None:
        self.first = first_position

    def changed(self, encoder: Encoder, mask: Tensor) -> AbstractContextManager[Any]:
        with random_stream("views"):
            places = shuffled_places(mask)
        return positions_at(encoder.backbone, self.first + places)
