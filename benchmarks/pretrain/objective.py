"""What a model that is pre-trained is made of and learns, as the loop of `train` asks for it."""

from __future__ import annotations

import argparse
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, ClassVar

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


@dataclass(frozen=True, slots=True)
class Objective(ABC):
    """A kind of model of so many layers, so wide, with so many heads, and what it learns from."""

    layers: int
    width: int
    heads: int

    card: ClassVar[Card]
    learner: ClassVar[type[Any]]  # class of the library that has all heads
    short: ClassVar[Any]  # lengths of rows in the first seven tenths of a run, as `rows_of_pass` takes them
    long: ClassVar[Any]  # and then

    @abstractmethod
    def model(self, options: argparse.Namespace, pieces: int) -> Any:
        """New weights, drawn from the seed."""

    @abstractmethod
    def losses(self, model: Any) -> nn.Module:
        """Of a batch: what is minimised, what is printed, and what `figures` asks for."""

    @staticmethod
    @abstractmethod
    def rows_of_pass(text: TokenisedText, lengths: Any, seed: int, number: int, /) -> Sequence[Any]:
        """All rows of a pass in groups of one length: what `len` counts and slices share out."""

    @abstractmethod
    def batch(self, rows: Any, pieces: int, rng: np.random.Generator) -> Any:
        """What the losses are of."""

    @abstractmethod
    def figures(self, batch: Any, found: Any) -> Sequence[tuple[float, float]]:
        """The card's columns for a batch and its losses: a sum, and over how many it is taken."""

    @abstractmethod
    def tokenizer(self, tokenizer: PreTrainedTokenizerFast) -> PreTrainedTokenizerFast:
        """As it belongs to the model."""

    @abstractmethod
    def likeliest(self, model: Any, tokenizer: PreTrainedTokenizerFast, prompt: str) -> torch.Tensor:
        """Scores (V,) of the word that a prompt asks for."""

    @abstractmethod
    def finished(self, model: Any) -> None:
        """Settle what training on should begin with."""

    def rows(self, text: TokenisedText, options: argparse.Namespace, steps: int, done: int) -> Iterator[Any]:
        """Batches of a run from step `done` on: the last three tenths have long rows too.

        A model so small learns nothing from context for thousands of steps where rows are longer (TRIALS.md); BERT took
        the longest ones for its last tenth.
        """
        long = steps * 7 // 10
        yield from islice(self._of(self.short, text, options, options.tokens, done), max(0, long - done))
        yield from self._of(self.long, text, options, options.tokens, max(0, done - long))

    @torch.no_grad()
    def held_out(self, losses: nn.Module, text: TokenisedText, options: argparse.Namespace, pieces: int) -> list[float]:
        """The card's columns, measured without dropout on the same long rows each time."""
        losses.eval()
        totals = np.zeros((len(self.card.columns), 2))
        rng, source = np.random.default_rng([options.seed, 3]), self._of(self.long, text, options, LOOK_BATCH)
        for _ in range(max(1, min(len(text.ids), HELD_OUT_TOKENS) // LOOK_BATCH)):
            batch = self.batch(next(source), pieces, rng)
            with precision(options):
                found = losses(batch)
            totals += self.figures(batch, found)
        losses.train()
        return [float(total / max(count, 1)) for total, count in totals]

    def _of(
        self, lengths: Any, text: TokenisedText, options: argparse.Namespace, tokens: int, start: int = 0
    ) -> Iterator[Any]:
        return batches(partial(self.rows_of_pass, text, lengths, options.seed), text, options.seed, tokens, start)


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
