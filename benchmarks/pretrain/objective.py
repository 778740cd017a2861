"""The interface between the training loop and a kind of model: its rows, its batches and its losses."""

from __future__ import annotations

import argparse
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, ClassVar

import numpy as np
import torch
from torch import nn
from transformers import PreTrainedTokenizerFast

from benchmarks.pretrain.ahead import ahead
from benchmarks.pretrain.rows import TokenisedText
from benchmarks.pretrain.sources import BadText

HELD_OUT_TOKENS, HELD_OUT_BATCH = 200_000, 1024  # tokens on which loss and accuracy are measured; tokens per batch
INITIAL = 0.05  # standard deviation of new weights; narrow layers need more than BERT's 0.02
CHUNK = 200  # steps whose batches are drawn together; a resumed run draws at most one chunk again


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
        """Return the input of the losses, as arrays."""

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

    def batches(self, text: TokenisedText, options: argparse.Namespace, pieces: int, done: int) -> Iterator[Any]:
        """Yield the batch of each step from step `done` on; `options.workers` processes draw batches ahead.

        The batch of a step is a function of the seed and the number of the step.
        """
        first, skipped = divmod(done, CHUNK)
        for chunk in ahead(partial(self.chunk, text, options, pieces), first, options.workers):
            yield from chunk[skipped:]
            skipped = 0

    def chunk(self, text: TokenisedText, options: argparse.Namespace, pieces: int, number: int) -> list[Any]:
        """Return the batches of CHUNK steps.

        Rows are short for the first `options.short_rows` million tokens: with long rows, models this small learn
        nothing from context for thousands of steps (TRIALS.md).
        """
        done = number * CHUNK
        lengths = self.short if done * options.tokens < options.short_rows * 1e6 else self.long
        rows = self._rows(text, lengths, options.tokens, CHUNK, np.random.default_rng([options.seed, number]))
        return [
            self.batch(of_step, pieces, np.random.default_rng([options.seed, step, 4]))
            for step, of_step in enumerate(rows, done)
        ]

    @torch.no_grad()
    def held_out(self, losses: nn.Module, text: TokenisedText, options: argparse.Namespace, pieces: int) -> list[float]:
        """Return the card's columns, measured without dropout on the same long rows each time."""
        losses.eval()
        totals, rng = np.zeros((len(self.card.columns), 2)), np.random.default_rng(3)
        count = max(len(self.long), min(len(text.ids), HELD_OUT_TOKENS) // HELD_OUT_BATCH)
        for rows in self._rows(text, self.long, HELD_OUT_BATCH, count, rng):
            batch = on_device(self.batch(rows, pieces, rng), options.device)
            with precision(options):
                outputs = losses(batch)
            totals += self.figures(batch, outputs)
        losses.train()
        return [float(total / max(count, 1)) for total, count in totals]

    def _rows(
        self, text: TokenisedText, lengths: Mapping[int, float], tokens: int, steps: int, rng: np.random.Generator
    ) -> list[Any]:
        """Return the rows of each of `steps` steps, about `tokens` tokens each, in random order."""
        if len(text.ids) < max(lengths):
            raise BadText(f"The text has {len(text.ids)} tokens, but a row has {max(lengths)}. Add more text.")
        steps_rows = []
        for length, fraction in lengths.items():
            count, at_once = round(fraction * steps), max(1, tokens // length)
            rows = self.draw_rows(text, length, count * at_once, rng)
            steps_rows += [rows[which] for which in rng.permutation(len(rows)).reshape(count, at_once)]
        return [steps_rows[number] for number in rng.permutation(len(steps_rows))]


def on_device(batch: Any, device: str) -> Any:
    """Return a batch, a dataclass of arrays of integers, as tensors of 64 bits on a device."""
    arrays = (torch.from_numpy(getattr(batch, field.name)) for field in fields(batch))
    return type(batch)(*(array.to(device, non_blocking=True).long() for array in arrays))


def precision(options: argparse.Namespace) -> AbstractContextManager[Any]:
    """Return the context in which matrix products are computed."""
    return torch.autocast(options.device, dtype=torch.bfloat16) if options.precision == "bf16" else nullcontext()
