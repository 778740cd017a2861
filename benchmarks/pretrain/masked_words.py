"""The objective of a BERT: masked words and next sentence (Devlin et al. 2019, section 3.1)."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor
from transformers import BertConfig, BertForPreTraining, PreTrainedTokenizerFast

from benchmarks.pretrain.objective import INITIAL, Card, Objective
from benchmarks.pretrain.rows import LONG, SHORT, UNRELATED, Rows, draw_rows
from benchmarks.pretrain.text import POSITIONS

SPECIAL = 5  # tokens that are neither masked nor put in the place of another
MASK = 4
MASKED = 0.15  # of the tokens of a row


@dataclass(frozen=True, slots=True)
class Batch:
    """R rows of T tokens with M masked ones each. ids, segments: (R, T); places, words: (R, M); follows: (R,).

    All are integers: arrays of few bytes when drawn, tensors of 64 bits on a device.
    """

    ids: Any
    segments: Any
    places: Any
    words: Any
    follows: Any


def masked(rows: Rows, pieces: int, rng: np.random.Generator) -> Batch:
    """Return a batch in which 15 % of the tokens are predicted: 80 % of them [MASK], 10 % random, 10 % unchanged."""
    ids = rows.ids.astype(np.int32)
    count = round(MASKED * ids.shape[1])
    draw = np.where(ids < SPECIAL, 2.0, rng.random(ids.shape))
    places = np.sort(np.argpartition(draw, count, axis=1)[:, :count], axis=1)
    words = np.take_along_axis(ids, places, axis=1)
    action = rng.random(places.shape)
    shown = np.where(action < 0.8, MASK, np.where(action < 0.9, rng.integers(SPECIAL, pieces, places.shape), words))
    np.put_along_axis(ids, places, shown, axis=1)
    segments = (np.arange(ids.shape[1]) >= rows.first[:, None]).astype(np.uint8)
    return Batch(ids, segments, places.astype(np.uint8), words, rows.follows.astype(np.int8))


class Losses(torch.nn.Module):
    """Both losses of a batch."""

    def __init__(self, model: BertForPreTraining) -> None:
        super().__init__()
        self.model = model

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return both losses summed, the masked-word loss, scores (R * M, V) of masked words and (R, 2) of pairs."""
        outputs = self.model.bert(input_ids=batch.ids, token_type_ids=batch.segments, return_dict=True)
        states = outputs.last_hidden_state
        states = torch.gather(states, 1, batch.places.unsqueeze(-1).expand(-1, -1, states.shape[-1]))
        scores = self.model.cls.predictions(states.flatten(0, 1)).float()
        words = F.cross_entropy(scores, batch.words.flatten())
        pair = self.model.cls.seq_relationship(outputs.pooler_output).float()
        count = (batch.follows != UNRELATED).sum().clamp(1)
        follows = F.cross_entropy(pair, batch.follows, ignore_index=UNRELATED, reduction="sum") / count
        return words + follows, words, scores, pair


@dataclass(frozen=True, slots=True)
class Bert(Objective):
    """A BERT (Turc et al. 2019)."""

    learner: ClassVar = BertForPreTraining
    short: ClassVar = SHORT
    long: ClassVar = LONG
    draw_rows = staticmethod(draw_rows)
    card: ClassVar = Card(
        what="BERT",
        learned="BERT's two losses (masked words, next sentence)",
        remark="has both of its heads",
        columns=("masked-word loss", "masked words, accuracy", "next sentence, accuracy"),
        prompts=(
            "the capital of france is [MASK].",
            "she opened the door and walked into the [MASK].",
            "water is made of hydrogen and [MASK].",
            "he was born in the year [MASK].",
            "i would like to book a [MASK] for two people.",
            "the heart pumps [MASK] through the body.",
        ),
        answers="likeliest words",
    )

    def model(self, options: argparse.Namespace, pieces: int) -> BertForPreTraining:
        """Return a BERT with both heads and weights drawn from the seed."""
        torch.manual_seed(options.seed)
        model = BertForPreTraining(
            BertConfig(
                vocab_size=pieces,
                hidden_size=self.width,
                num_hidden_layers=self.layers,
                num_attention_heads=self.heads,
                intermediate_size=4 * self.width,
                max_position_embeddings=POSITIONS,
                hidden_dropout_prob=options.dropout,
                attention_probs_dropout_prob=options.dropout,
                pad_token_id=0,
                initializer_range=INITIAL,
            )
        )
        model.set_attn_implementation("eager")  # for short rows a fifth less time a step than fused attention, on a CPU
        return model

    def losses(self, model: BertForPreTraining) -> Losses:
        """Return the module of both losses."""
        return Losses(model)

    def batch(self, rows: Rows, pieces: int, rng: np.random.Generator) -> Batch:
        """Return rows with masked words."""
        return masked(rows, pieces, rng)

    def figures(self, batch: Batch, outputs: tuple[Tensor, Tensor, Tensor, Tensor]) -> list[tuple[float, float]]:
        """Return masked-word loss, accuracy of masked words, and accuracy of next sentence."""
        _, mean, scores, pair = outputs
        words, labelled = batch.words.numel(), batch.follows != UNRELATED
        right = (scores.argmax(-1) == batch.words.flatten()).sum()
        same = (pair.argmax(-1) == batch.follows)[labelled].sum()
        return [(float(mean) * words, words), (float(right), words), (float(same), float(labelled.sum()))]

    def tokenizer(self, tokenizer: PreTrainedTokenizerFast) -> PreTrainedTokenizerFast:
        """Return the tokenizer unchanged."""
        return tokenizer

    def likeliest(self, model: BertForPreTraining, tokenizer: PreTrainedTokenizerFast, prompt: str) -> Tensor:
        """Return the scores (V,) of the masked word."""
        batch = tokenizer(prompt, return_tensors="pt")
        scores: Tensor = model(**batch).prediction_logits[0, batch["input_ids"][0] == tokenizer.mask_token_id]
        return scores[0]

    def finished(self, model: BertForPreTraining) -> None:
        """Set BERT's dropout, for fine-tuning."""
        model.config.hidden_dropout_prob = model.config.attention_probs_dropout_prob = 0.1
