"""What a model that is pre-trained is made of and learns, as the loop of `train` asks for it."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
import torch
from torch import nn
from transformers import PreTrainedTokenizerFast

from benchmarks.pretrain.rows import TokenisedText
from benchmarks.pretrain.sources import BadText

HELD_OUT_TOKENS, LOOK_BATCH = 200_000, 1024  # on which loss and accuracy are measured, and so many at a time
INITIAL = 0.05  # of new weights: narrower layers need larger ones than BERT's 0.02 for sums of the same size


@dataclass(frozen=True, slots=True)
class Card:
    """What a model card says of the kind of model. columns: of the held-out figures, the loss first, then shares."""

    what: str
    learned: str
    remark: str
    columns: Sequence[str]
    prompts: Sequence[str]
    answers: str


class Objective(Protocol):
    """A kind of model, its size, and what it learns from."""

    card: ClassVar[Card]
    learner: ClassVar[type[Any]]  # class of the library that has all heads

    def model(self, options: argparse.Namespace, pieces: int) -> Any:
        """New weights, drawn from the seed."""

    def losses(self, model: Any) -> nn.Module:
        """Of a batch: what is minimised, and what is printed."""

    def rows(self, text: TokenisedText, options: argparse.Namespace, steps: int, done: int) -> Iterator[Any]:
        """Batches of a run from step `done` on, as what `len` counts and slices share out."""

    def batch(self, rows: Any, pieces: int, rng: np.random.Generator) -> Any:
        """What the losses are of."""

    def held_out(self, losses: Any, text: TokenisedText, options: argparse.Namespace) -> Sequence[float]:
        """The card's columns, measured without dropout on the same rows each time."""

    def tokenizer(self, tokenizer: PreTrainedTokenizerFast) -> PreTrainedTokenizerFast:
        """As it belongs to the model."""

    def likeliest(self, model: Any, tokenizer: PreTrainedTokenizerFast, prompt: str) -> torch.Tensor:
        """Scores (V,) of the word that a prompt asks for."""

    def finished(self, model: Any) -> None:
        """Settle what training on should begin with."""


def batches(
    rows_of_pass: Callable[[int], Sequence[Any]], text: TokenisedText, seed: int, tokens: int, start: int = 0
) -> Iterator[Any]:
    """Endless batches of `tokens` tokens, from batch number `start` on; batches of a pass in random order.

    rows_of_pass: all rows of a pass, by its number, in groups of one length. Raises: BadText where there is no row.
    """
    number, passed = 0, 0
    while True:
        groups = []
        for rows in rows_of_pass(number):
            at_once = min(tokens // rows.shape[1], len(rows))
            order = np.random.default_rng([seed, number, 1]).permutation(len(rows))
            for first in range(0, len(order) - at_once + 1, at_once):
                groups.append((rows, order[first : first + at_once]))
        if not groups:
            raise BadText(f"{len(text.ids)} tokens of text do not fill one row; give more text")
        for which in np.random.default_rng([seed, number, 2]).permutation(len(groups)):
            if passed >= start:
                rows, chosen = groups[which]
                yield rows[chosen]
            passed += 1
        number += 1


def precision(options: argparse.Namespace) -> AbstractContextManager[Any]:
    """What products are computed in."""
    return torch.autocast("cpu", dtype=torch.bfloat16) if options.precision == "bf16" else nullcontext()
