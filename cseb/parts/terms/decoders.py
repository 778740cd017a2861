"""Terms whose decoder writes a sentence from its embedding: TSDAE, RetroMAE and the reconstruction of MSSE."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cseb.encoder.encoder import Encoder
from cseb.encoder.interface import LANGUAGE, LAYERS
from cseb.errors import BadSpec
from cseb.methods.option_types import Between, Count, Rate
from cseb.parts import LossInputs, Reads, reads
from cseb.parts.base import EncoderPart, LossTerm, check_masked_lm
from cseb.parts.heads import INITIAL_SPREAD, new_linear, start_as_bert, times_width
from cseb.parts.terms.masked_language_modelling import corrupt, masked_language, select

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
        self.decoder = self.new_decoder(encoder.limit() + encoder.prompt_tokens())

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
