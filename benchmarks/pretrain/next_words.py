"""The objective of a decoder: the next word of running text (Radford et al. 2019), in the architecture of Llama."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
import torch.nn.functional as F
from tokenizers.processors import TemplateProcessing
from torch import Tensor
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from benchmarks.pretrain.objective import INITIAL, Card, Objective
from benchmarks.pretrain.rows import CLS, SEP, Ids, TokenisedText
from benchmarks.pretrain.text import POSITIONS

START, END = "[CLS]", "[SEP]"  # tokens at the start and end of a text; the vocabulary is BERT's
SHORT, LONG = {33: 1.0}, {129: 1.0}  # tokens of a row, at first and later; the last one is only predicted
ASKED = 0.25  # fraction of the words of a row that are predicted: all of them would make a step three times as long


def draw_rows(text: TokenisedText, length: int, count: int, rng: np.random.Generator) -> Ids:
    """Return rows (R, T) that start with [CLS]: documents drawn by weight, [SEP] after each, cut anywhere."""
    bounds = text.sentences[text.documents]  # (D + 1,)
    parts, tokens, wanted = [], 0, count * (length - 1)
    for document in text.draw(rng):
        parts += [text.ids[bounds[document] : bounds[document + 1]], np.array([SEP], dtype=np.uint16)]
        tokens += len(parts[-2]) + 1
        if tokens >= wanted:
            break
    rows = np.concatenate(parts)[:wanted].reshape(count, length - 1)
    return np.pad(rows, ((0, 0), (1, 0)), constant_values=CLS)


@dataclass(frozen=True, slots=True)
class Batch:
    """R rows of T tokens. ids: (R, T); places: (R, M), the tokens whose next token is predicted.

    Both are integers: arrays of few bytes when drawn, tensors of 64 bits on a device.
    """

    ids: Any
    places: Any


class Losses(torch.nn.Module):
    """The loss of a batch."""

    def __init__(self, model: LlamaForCausalLM) -> None:
        super().__init__()
        self.model = model

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return the mean loss twice, scores (R * M, V) of the predicted words, and these words (R * M,)."""
        states = self.model.model(input_ids=batch.ids[:, :-1], use_cache=False).last_hidden_state
        states = torch.gather(states, 1, batch.places.unsqueeze(-1).expand(-1, -1, states.shape[-1]))
        scores = self.model.lm_head(states.flatten(0, 1)).float()
        words = torch.gather(batch.ids, 1, batch.places + 1).flatten()
        loss = F.cross_entropy(scores, words)
        return loss, loss, scores, words


@dataclass(frozen=True, slots=True)
class Decoder(Objective):
    """A Llama whose output layer is its word embeddings."""

    learner: ClassVar = LlamaForCausalLM
    short: ClassVar = SHORT
    long: ClassVar = LONG
    draw_rows = staticmethod(draw_rows)
    card: ClassVar = Card(
        what="decoder in the architecture of Llama",
        learned="the loss of the next word",
        remark="names the next word through its word embeddings",
        columns=("next-word loss", "next words, accuracy"),
        prompts=(
            "the capital of france is",
            "she opened the door and walked into the",
            "water is made of hydrogen and",
            "he was born in the",
            "i would like to book a",
            "the heart pumps blood through the",
        ),
        answers="likeliest next words",
    )

    def model(self, options: argparse.Namespace, pieces: int) -> LlamaForCausalLM:
        """Return a decoder with weights drawn from the seed."""
        torch.manual_seed(options.seed)
        config = LlamaConfig(
            vocab_size=pieces,
            hidden_size=self.width,
            intermediate_size=8 * self.width // 3,  # three products of this width have the weights of BERT's two
            num_hidden_layers=self.layers,
            num_attention_heads=self.heads,
            max_position_embeddings=POSITIONS,
            attention_dropout=options.dropout,
            tie_word_embeddings=True,
            pad_token_id=0,
            bos_token_id=CLS,
            eos_token_id=SEP,
            initializer_range=INITIAL,
        )
        model = LlamaForCausalLM(config)
        model.set_attn_implementation("eager")  # for short rows a little less time a step, on a CPU
        return model

    def losses(self, model: LlamaForCausalLM) -> Losses:
        """Return the module of the loss."""
        return Losses(model)

    def batch(self, rows: Ids, pieces: int, rng: np.random.Generator) -> Batch:
        """Return rows with a quarter of the words to predict."""
        count = round(ASKED * (rows.shape[1] - 1))
        places = np.argpartition(rng.random((len(rows), rows.shape[1] - 1)), count, axis=1)[:, :count]
        return Batch(rows.astype(np.int32), np.sort(places, axis=1).astype(np.uint8))

    def figures(self, batch: Batch, outputs: tuple[Tensor, Tensor, Tensor, Tensor]) -> list[tuple[float, float]]:
        """Return loss and accuracy of the next word."""
        mean, _, scores, words = outputs
        right = (scores.argmax(-1) == words).sum()
        return [(float(mean) * len(words), len(words)), (float(right), len(words))]

    def tokenizer(self, tokenizer: PreTrainedTokenizerFast) -> PreTrainedTokenizerFast:
        """Return a tokenizer that puts [CLS] before a text and nothing after it."""
        core = tokenizer.backend_tokenizer
        core.post_processor = TemplateProcessing(single=f"{START} $A", special_tokens=[(START, CLS)])
        return PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
            tokenizer_object=core, model_max_length=POSITIONS, bos_token=START, eos_token=END,
            unk_token="[UNK]", pad_token="[PAD]",
        )  # fmt: skip

    def likeliest(self, model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, prompt: str) -> Tensor:
        """Return the scores (V,) of the word after the prompt."""
        ids = tokenizer(prompt, return_tensors="pt")["input_ids"]
        scores: Tensor = model(input_ids=ids).logits[0, -1]
        return scores

    def finished(self, model: LlamaForCausalLM) -> None:
        """Set no dropout, as in Llama."""
        model.config.attention_dropout = 0.0
