"""The interface between the training loop and a kind of model: its rows, its batches and its losses."""

from __future__ import annotations

import argparse
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np
import torch
from torch import nn
from transformers import PreTrainedTokenizerFast

from benchmarks.pretrain.rows import TokenisedText
from benchmarks.pretrain.sources import BadText

HELD_OUT_TOKENS, HELD_OUT_BATCH = 200_000, 1024  # tokens on which loss and accuracy are measured; tokens per batch
INITIAL = 0.05  # standard deviation of new weights; narrow layers need more than BERT's 0.02
CHUNK = 1000  # steps whose rows are drawn together; a resumed run draws at most one chunk again


@dataclass(frozen=True, slots=True)
class Card:
    """Wording of the model card. columns: names of the held-out figures, the loss first, then fractions."""

    what: str
    learned: str
    remark: str
    columns: Sequence[str]
    prompts: Sequence[str]
    answers: str


@dataclass(frozen=True, slots=True)
class Objective(ABC):
    """A kind of model with so many layers, width and attention heads, and its training objective."""

    layers: int
    width: int
    heads: int

    card: ClassVar[Card]
    learner: ClassVar[type[Any]]  # class of transformers with all heads
    short: ClassVar[Mapping[int, float]]  # lengths of rows at first: fraction of the batches
    long: ClassVar[Mapping[int, float]]  # lengths of rows later

    @abstractmethod
    def model(self, options: argparse.Namespace, pieces: int) -> Any:
        """Return a model with random weights, drawn from the seed."""

    @abstractmethod
    def losses(self, model: Any) -> nn.Module:
        """Return a module that maps a batch to: loss to minimise, loss to print, and the inputs of `figures`."""

    @staticmethod
    @abstractmethod
    def draw_rows(text: TokenisedText, length: int, count: int, rng: np.random.Generator, /) -> Any:
        """Return `count` rows of `length` tokens; the result has a length and can be indexed by arrays."""

    @abstractmethod
    def batch(self, rows: Any, pieces: int, rng: np.random.Generator) -> Any:
        """Return the input of the losses."""

    @abstractmethod
    def figures(self, batch: Any, outputs: Any) -> Sequence[tuple[float, float]]:
        """Return, for each column of the card, a sum over the batch and the number of its terms."""

    @abstractmethod
    def tokenizer(self, tokenizer: PreTrainedTokenizerFast) -> PreTrainedTokenizerFast:
        """Return the tokenizer that is exported with the model."""

    @abstractmethod
    def likeliest(self, model: Any, tokenizer: PreTrainedTokenizerFast, prompt: str) -> torch.Tensor:
        """Return the scores (V,) of the word that a prompt asks for."""

    @abstractmethod
    def finished(self, model: Any) -> None:
        """Set the configuration with which fine-tuning begins."""

    def rows(self, text: TokenisedText, options: argparse.Namespace, done: int) -> Iterator[Any]:
        """Yield the rows of each step from step `done` on.

        The rows of a step are a function of the seed and the number of the step. Rows are short for the first
        `options.short_rows` million tokens: with long rows, models this small learn nothing from context for thousands
        of steps (TRIALS.md).
        """
        number, skipped = divmod(done, CHUNK)
        while True:
            lengths = self.short if number * CHUNK * options.tokens < options.short_rows * 1e6 else self.long
            rng = np.random.default_rng([options.seed, number])
            yield from self._batches(text, lengths, options.tokens, CHUNK, rng)[skipped:]
            number, skipped = number + 1, 0

    @torch.no_grad()
    def held_out(self, losses: nn.Module, text: TokenisedText, options: argparse.Namespace, pieces: int) -> list[float]:
        """Return the card's columns, measured without dropout on the same long rows each time."""
        losses.eval()
        totals, rng = np.zeros((len(self.card.columns), 2)), np.random.default_rng(3)
        count = max(len(self.long), min(len(text.ids), HELD_OUT_TOKENS) // HELD_OUT_BATCH)
        for rows in self._batches(text, self.long, HELD_OUT_BATCH, count, rng):
            batch = on_device(self.batch(rows, pieces, rng), options.device)
            with precision(options):
                outputs = losses(batch)
            totals += self.figures(batch, outputs)
        losses.train()
        return [float(total / max(count, 1)) for total, count in totals]

    def _batches(
        self, text: TokenisedText, lengths: Mapping[int, float], tokens: int, steps: int, rng: np.random.Generator
    ) -> list[Any]:
        """Return the rows of `steps` batches of about `tokens` tokens each, in random order."""
        if len(text.ids) < max(lengths):
            raise BadText(f"The text has {len(text.ids)} tokens, but a row has {max(lengths)}. Add more text.")
        batches = []
        for length, fraction in lengths.items():
            count, at_once = round(fraction * steps), max(1, tokens // length)
            rows = self.draw_rows(text, length, count * at_once, rng)
            batches += [rows[which] for which in rng.permutation(len(rows)).reshape(count, at_once)]
        return [batches[number] for number in rng.permutation(len(batches))]


def on_device(batch: Any, device: str) -> Any:
    """Return a batch, a dataclass of tensors, on a device."""
    return type(batch)(*(getattr(batch, field.name).to(device, non_blocking=True) for field in fields(batch)))


def precision(options: argparse.Namespace) -> AbstractContextManager[Any]:
    """Return the context in which matrix products are computed."""
    return torch.autocast(options.device, dtype=torch.bfloat16) if options.precision == "bf16" else nullcontext()
