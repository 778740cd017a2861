"""TSDAE: a noised sentence's vector has to tell a causal decoder the whole sentence, word by word."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cseb.encoder.encoder import Encoder
from cseb.encoder.interface import LANGUAGE, Shape
from cseb.methods.option_types import Between, Count
from cseb.parts import LossInputs, Reads, reads
from cseb.parts.heads import INITIAL_SPREAD, new_linear, start_as_bert, times_width


def next_tokens(ids: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """What is to be named after each token but the last, and where there is something: (B, T - 1) both.

    ids, mask: (B, T). The token that ends a sentence counts, padding does not. Source: Wang et al. 2021, its released
    code (DenoisingAutoEncoderLoss).
    """
    return ids[:, 1:], mask[:, 1:].bool()


class Decoder(nn.Module):
    """Causal layers over a sentence's own words, each given the sentence's vector.

    In the release every layer attends to that one vector, and a softmax over one key is 1: so it adds the same affine
    map of the vector at every position, which is all that stands here.
    """

    def __init__(self, width: int, heads: int, layers: int, inner: int, dropout: float, longest: int) -> None:
        super().__init__()
        self.positions = nn.Embedding(longest, width)
        nn.init.normal_(self.positions.weight, std=INITIAL_SPREAD)
        self.sentence_maps = nn.ModuleList(new_linear(width) for _ in range(layers))
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(width, heads, inner, dropout, F.gelu, batch_first=True) for _ in range(layers)
        )
        for module in self.layers.modules():
            if isinstance(module, nn.Linear):
                start_as_bert(module)

    def forward(self, words: Tensor, z: Tensor) -> Tensor:
        """Embeddings (B, T, D) of the words so far and vectors (B, D) to states (B, T, D)."""
        places = torch.arange(words.shape[1], device=words.device)
        states: Tensor = words + self.positions(places)
        ahead = torch.ones(len(places), len(places), dtype=torch.bool, device=words.device).triu(1)  # not to be seen
        for sentence_map, layer in zip(self.sentence_maps, self.layers, strict=True):
            states = layer(states + sentence_map(z)[:, None], src_mask=ahead)
        return states


class Denoise(nn.Module):
    """A new causal decoder names every next word of the first view from the pooled vector of the second, a noised copy.

    layers, inner, dropout: of the decoder; inner is a number or times the encoder's width ("4x"). It has as many heads
    as the encoder, reads the encoder's word embeddings, which are trained along, and writes with the masked-LM head of
    the checkpoint, or with those embeddings where it has none: so it works with every encoder. Gone at test. Source:
    Wang et al. 2021 (TSDAE), released code; there encoder and decoder share all their weights, which only the family
    of BERT can.
    """

    preset: ClassVar = {"layers": 1, "inner": "4x", "dropout": 0.1}
    requires: ClassVar[str] = "decoder"
    needs: ClassVar[frozenset[str]] = frozenset({LANGUAGE})
    views: ClassVar[int] = 2
    reads: ClassVar[Reads] = reads("h", "language", views=2)

    def __init__(
        self, layers: Count, inner: Count | str, dropout: Annotated[float, Between(0, 0.999)], shape: Shape
    ) -> None:
        super().__init__()
        self.inner, self.layers, self.dropout = times_width(inner, shape.width, "denoise: inner"), layers, dropout
        self.shape = shape
        self.words: list[Any] = []  # in a list: the backbone owns them

    def setup(self, encoder: Encoder) -> None:
        """Make the decoder beside this encoder's word embeddings."""
        backbone: Any = encoder.backbone
        self.words = [backbone.get_input_embeddings()]
        width, own = self.shape.width, int(self.words[0].embedding_dim)
        self.widen = nn.Identity() if own == width else new_linear(own, width)  # ALBERT's are narrower
        self.decoder = Decoder(width, self.shape.heads, self.layers, self.inner, self.dropout, encoder.limit())

    def forward(self, step: LossInputs) -> Tensor:
        """Return a scalar in nats: the mean over all words of the batch."""
        assert step.language is not None
        clean, noised = step.views[0], step.views[1]
        targets, real = next_tokens(clean.ids, clean.mask)
        states = self.decoder(self.widen(self.words[0](clean.ids[:, :-1])), noised.h)
        return F.cross_entropy(step.language(states[real]), targets[real])
