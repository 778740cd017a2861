"""RetroMAE: a one-layer decoder reconstructs every word from the sentence vector and a random half of the words."""

from __future__ import annotations

from typing import Annotated, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cseb.methods.option_types import Between, Count, Rate
from cseb.parts import LossInputs, Reads, reads
from cseb.parts.contract_checks import check_masked_lm
from cseb.parts.heads import INITIAL_SPREAD, new_linear, start_as_bert, times_width
from cseb.parts.terms.denoising import EPSILON, DecoderTerm
from cseb.parts.terms.masked_language_modelling import corrupt, masked_language, select


def hidden_words(content: Tensor, mask: Tensor, rate: float, rng: torch.Generator) -> Tensor:
    """Return which words each position cannot see (B, T, T), True = hidden, drawn anew for every position.

    content, mask: (B, T). A position sees the special tokens, the first of which is the sentence vector, and each other
    word with probability 1 - rate; never itself, never padding. Source: Xiao et al. 2022 (RetroMAE), eq. 7.
    """
    batch, length = mask.shape
    drawn = torch.rand(batch, length, length, generator=rng, device=mask.device) < rate
    hidden = drawn & content.bool()[:, None, :]
    hidden |= torch.eye(length, dtype=torch.bool, device=mask.device)
    hidden[:, 0, 0] = False  # the first position predicts nothing, but a softmax over no key is undefined
    return hidden | ~mask.bool()[:, None, :]


class EnhancedDecoder(nn.Module):
    """One layer of a BERT whose queries are positions plus sentence vector and whose keys are the words."""

    def __init__(self, width: int, heads: int, inner: int, dropout: float, longest: int) -> None:
        super().__init__()
        self.positions = nn.Embedding(longest, width)
        self.attention = nn.MultiheadAttention(width, heads, dropout, batch_first=True)
        self.feed_forward = nn.Sequential(new_linear(width, inner), nn.GELU(), new_linear(inner, width))
        self.norms = nn.ModuleList(nn.LayerNorm(width, EPSILON) for _ in range(3))  # of words, attention and output
        self.dropout = nn.Dropout(dropout)
        nn.init.normal_(self.positions.weight, std=INITIAL_SPREAD)
        nn.init.normal_(self.attention.in_proj_weight, std=INITIAL_SPREAD)
        start_as_bert(self.attention.out_proj)

    def forward(self, words: Tensor, h: Tensor, hidden: Tensor) -> Tensor:
        """Return states (B, T, D).

        words: (B, T, D), embeddings of the words; the first is replaced by the sentence vector. h: (B, D), sentence
        vectors. hidden: (B, T, T), True where a position (second axis) cannot see a word (third axis).
        """
        positions = self.positions(torch.arange(words.shape[1], device=words.device))
        keys = self.dropout(self.norms[0](words + positions))
        keys = torch.cat([h[:, None], keys[:, 1:]], dim=1)
        queries = positions + h[:, None]
        masks = hidden.repeat_interleave(self.attention.num_heads, dim=0)
        attended, _ = self.attention(queries, keys, keys, attn_mask=masks, need_weights=False)
        states = self.norms[1](queries + self.dropout(attended))
        output: Tensor = self.norms[2](states + self.dropout(self.feed_forward(states)))
        return output


class EnhancedDecoding(DecoderTerm):
    """Masked-LM loss of a masked copy, plus the loss of a decoder that reconstructs all words from its [CLS] vector.

    The encoder reads a copy of the first view with `encoder_rate` of its words masked. The decoder predicts every word
    from the state of the copy's first token and from the other words, of which each position sees a random
    1 - `decoder_rate`. Both predict with the checkpoint's masked-LM head. The decoder reads the encoder's word
    embeddings and is not used at test. inner: width inside the decoder, a number or times the encoder's ("4x").
    Source: Xiao et al. 2022 (RetroMAE), eq. 1 to 9; authors' code. Raises: BadSpec on an encoder without a mask token
    or masked-LM head.
    """

    requires: ClassVar[str] = "masked-LM head"
    views: ClassVar[int] = 1
    reads: ClassVar[Reads] = reads("language", views=1, tokens=1)
    encoder_rate: Rate = 0.3  # all of the authors' code
    decoder_rate: Rate = 0.5
    inner: Count | str = "4x"
    dropout: Annotated[float, Between(0, 0.999)] = 0.1

    def __post_init__(self) -> None:
        check_masked_lm("enhanced_decoding", self.shape)
        self.inner_width = times_width(self.inner, self.shape.width, "enhanced_decoding: inner")

    def new_decoder(self, longest: int) -> EnhancedDecoder:
        return EnhancedDecoder(self.shape.width, self.shape.heads, self.inner_width, self.dropout, longest)

    def forward(self, step: LossInputs) -> Tensor:
        """Return a scalar in nats: the mean over masked words, plus the mean over all words."""
        assert step.language is not None
        assert step.read is not None
        view = step.views[0]
        content, masked = view.content.bool(), select(view.content, self.encoder_rate, step.rng)
        states = step.read(corrupt(view.ids, masked, self.shape.mask_id, self.shape.vocabulary, step.rng), view.mask)
        hidden = hidden_words(view.content, view.mask, self.decoder_rate, step.rng)
        decoded = self.decoder(self.embedded(view.ids), states[:, 0], hidden)
        ids, selected, words = view.ids.flatten(), masked.flatten().nonzero()[:, 0], content.flatten().nonzero()[:, 0]
        encoder_logits = step.language(states.flatten(0, 1).index_select(0, selected))
        decoder_logits = step.language(decoded.flatten(0, 1).index_select(0, words))
        return masked_language(encoder_logits, ids[selected]) + F.cross_entropy(decoder_logits, ids[words])
