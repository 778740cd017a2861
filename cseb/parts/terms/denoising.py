"""TSDAE: a causal decoder reconstructs the sentence from the embedding of a noised copy."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cseb.encoder.encoder import Encoder
from cseb.encoder.interface import LANGUAGE
from cseb.methods.option_types import Between, Count
from cseb.parts import LossInputs, Reads, reads
from cseb.parts.base import EncoderPart, LossTerm
from cseb.parts.heads import INITIAL_SPREAD, new_linear, start_as_bert, times_width

EPSILON = 1e-12  # of the layer norms: BERT's


def next_tokens(ids: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Return the next token of each token but the last, and a mask of the real ones: (B, T - 1) both.

    ids, mask: (B, T). The token that ends a sentence counts, padding does not. Source: Wang et al. 2021, authors' code
    (DenoisingAutoEncoderLoss).
    """
    return ids[:, 1:], mask[:, 1:].bool()


class DecoderLayer(nn.Module):
    """A layer of a BERT decoder that attends to the one vector of its sentence.

    Self-attention over the words so far, the sentence vector, feed-forward network: each with a residual connection
    and a layer norm of its own. A softmax over one key is 1, so attention to one vector is an affine map of that
    vector, the same at every position.
    """

    def __init__(self, width: int, heads: int, inner: int, dropout: float) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(width, heads, dropout, batch_first=True)
        self.sentence_map = new_linear(width)
        self.feed_forward = nn.Sequential(new_linear(width, inner), nn.GELU(), new_linear(inner, width))
        self.norms = nn.ModuleList(nn.LayerNorm(width, EPSILON) for _ in range(3))
        self.dropout = nn.Dropout(dropout)
        nn.init.normal_(self.attention.in_proj_weight, std=INITIAL_SPREAD)
        start_as_bert(self.attention.out_proj)

    def forward(self, states: Tensor, z: Tensor, ahead: Tensor) -> Tensor:
        """Return states (B, T, D), from states (B, T, D), vectors z (B, D) and a mask (T, T), True = hidden."""
        attended, _ = self.attention(states, states, states, attn_mask=ahead, need_weights=False)
        states = self.norms[0](states + self.dropout(attended))
        states = self.norms[1](states + self.dropout(self.sentence_map(z)[:, None].expand_as(states)))
        output: Tensor = self.norms[2](states + self.dropout(self.feed_forward(states)))
        return output


class Decoder(nn.Module):
    """New layers of a BERT decoder over a sentence's own words; each layer attends to the sentence vector."""

    def __init__(self, width: int, heads: int, layers: int, inner: int, dropout: float, longest: int) -> None:
        super().__init__()
        self.positions = nn.Embedding(longest, width)
        nn.init.normal_(self.positions.weight, std=INITIAL_SPREAD)
        self.norm, self.dropout = nn.LayerNorm(width, EPSILON), nn.Dropout(dropout)
        self.layers = nn.ModuleList(DecoderLayer(width, heads, inner, dropout) for _ in range(layers))

    def forward(self, words: Tensor, z: Tensor) -> Tensor:
        """Return states (B, T, D), from embeddings (B, T, D) of the words so far and sentence vectors z (B, D)."""
        places = torch.arange(words.shape[1], device=words.device)
        states: Tensor = self.dropout(self.norm(words + self.positions(places)))
        ahead = torch.ones(len(places), len(places), dtype=torch.bool, device=words.device).triu(1)
        for layer in self.layers:
            states = layer(states, z, ahead)
        return states


class DecoderTerm(EncoderPart, LossTerm):
    """Base of terms with a new decoder that reads the encoder's word embeddings and is not used at test."""

    needs: ClassVar[frozenset[str]] = frozenset({LANGUAGE})

    def setup(self, encoder: Encoder) -> None:
        backbone: Any = encoder.backbone
        self.words: list[Any] = [backbone.get_input_embeddings()]  # in a list: the backbone owns them
        width, own = self.shape.width, int(self.words[0].embedding_dim)
        self.widen = nn.Identity() if own == width else new_linear(own, width)  # ALBERT's are narrower
        self.decoder = self.new_decoder(encoder.limit())

    def new_decoder(self, longest: int) -> nn.Module:
        """Return the decoder of texts of up to `longest` tokens."""
        raise NotImplementedError

    def embedded(self, ids: Tensor) -> Tensor:
        """Return the embeddings (B, T, D) of words (B, T)."""
        embeddings: Tensor = self.widen(self.words[0](ids))
        return embeddings


class Denoise(DecoderTerm):
    """A new causal decoder predicts every next word of the first view from the vector of the second, noised view.

    layers, inner, dropout: of the decoder; inner is a number or times the encoder's width ("4x"). The decoder has as
    many heads as the encoder and reads the encoder's word embeddings, which are trained too. Its output layer is the
    masked-LM head of the checkpoint, or the word embeddings where there is none: so it works with every encoder. It is
    not used at test. Source: Wang et al. 2021 (TSDAE), authors' code; there encoder and decoder share their weights,
    which only BERT's family can.
    """

    version: ClassVar[int] = 2
    requires: ClassVar[str] = "decoder"
    reads: ClassVar[Reads] = reads("h", "language", views=2, tokens=1)
    layers: Count = 1
    inner: Count | str = "4x"
    dropout: Annotated[float, Between(0, 0.999)] = 0.1

    def __post_init__(self) -> None:
        self.inner_width = times_width(self.inner, self.shape.width, "denoise: inner")

    def new_decoder(self, longest: int) -> Decoder:
        return Decoder(self.shape.width, self.shape.heads, self.layers, self.inner_width, self.dropout, longest)

    def forward(self, step: LossInputs) -> Tensor:
        """Return a scalar in nats: the mean over all words of the batch."""
        assert step.language is not None
        clean, noised = step.views[0], step.views[1]
        targets, real = next_tokens(clean.ids, clean.mask)
        states = self.decoder(self.embedded(clean.ids[:, :-1]), noised.h)
        return F.cross_entropy(step.language(states[real]), targets[real])
