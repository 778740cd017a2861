"""ICM: reconstruction of the sentence from its embedding by a decoder."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cseb.encoder.interface import LANGUAGE, LAYERS
from cseb.errors import BadSpec
from cseb.methods.option_types import Between, Count
from cseb.parts import LossInputs, reads
from cseb.parts.base import EncoderPart, LossTerm
from cseb.parts.heads import start_as_bert


def reconstruction(logits: Tensor, targets: Tensor, sentences: int, reduction: str) -> Tensor:
    """Return the cross-entropy of M real tokens: mean over tokens, sum (eq. 9), or sum per sentence averaged.

    logits: (M, V). targets: (M,). Source: MSSE, eq. 9; authors' code for the token mean.
    """
    total = F.cross_entropy(logits, targets, reduction="sum")
    return total / {"token_mean": max(len(targets), 1), "sum": 1, "sentence_mean": max(sentences, 1)}[reduction]


def add_noise(states: Tensor, noise: str, rate: float, rng: torch.Generator) -> Tensor:
    """Zero a fraction of (B, T, D), by element or token, and scale the others up to the same mean.

    Element-wise noise leaks: the right token mostly remains the nearest one, so the embedding is hardly needed.
    """
    shape = states.shape if noise == "element" else (*states.shape[:-1], 1)
    kept = torch.rand(shape, generator=rng, device=states.device) >= rate
    return states * kept / (1 - rate)


class Reconstruct(EncoderPart, LossTerm):
    """A new decoder predicts every token of the sentence from z and a noised copy of the token embeddings.

    Parallel prediction: no causal mask. The embeddings are constants, so the term reaches the backbone through z and
    the output layer alone: the masked-LM head of the checkpoint, or its word embeddings where it has none. Only the
    sentence's own tokens count. target: "self", or "positive" (the other view, as the authors' code has it).
    Source: MSSE, eq. 5 to 9; sizes and first weights from the authors' code.
    """

    version: ClassVar[int] = 2
    requires: ClassVar[str] = "decoder"
    needs: ClassVar[frozenset[str]] = frozenset({LAYERS, LANGUAGE})
    layers: Count = 16  # MSSE release, with the sentence itself as target
    heads: Count = 1
    inner: Count = 2048
    dropout: Annotated[float, Between(0, 0.999)] = 0.1
    noise: Literal["element", "token"] = "element"
    rate: Annotated[float, Between(0, 0.999)] = 0.825
    target: Literal["self", "positive"] = "self"
    reduction: Literal["token_mean", "sum", "sentence_mean"] = "token_mean"

    def __post_init__(self) -> None:
        shape = self.shape
        if shape.width % self.heads:
            raise BadSpec(f"reconstruct: heads is {self.heads}; it must divide the width of the encoder, {shape.width}")
        target_view = 1 if self.target == "self" else 2
        self.reads = reads("z", "layers", "language", views=target_view, tokens=target_view)
        layer = nn.TransformerDecoderLayer(
            d_model=shape.width, nhead=self.heads, dim_feedforward=self.inner, dropout=self.dropout, batch_first=True
        )
        self.decoder = nn.TransformerDecoder(layer, num_layers=self.layers)
        # The maps to queries, keys and values are no nn.Linear, and the authors' code skips them: they keep Xavier's
        # weights, the same in every layer, since the layers are copies of one.
        for module in self.decoder.modules():
            if isinstance(module, nn.Linear):
                start_as_bert(module)

    def forward(self, step: LossInputs) -> Tensor:
        assert step.language is not None
        view = step.views[0 if self.target == "self" else 1]
        tokens = add_noise(view.layers[0].detach(), self.noise, self.rate, step.rng)  # (B, T, D)
        states = self.decoder(tokens, step.views[0].z.unsqueeze(1), tgt_key_padding_mask=view.mask == 0)
        real = view.content.bool()
        return reconstruction(step.language(states[real]), view.ids[real], len(view.ids), self.reduction)
