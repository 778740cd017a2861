"""Auxiliary masked-LM network that reads the sentence vector (InfoCSE)."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cseb.encoder.encoder import Encoder
from cseb.encoder.interface import CONTEXT
from cseb.encoder.loading import LANGUAGE_HEADS, LanguageWeights, configuration
from cseb.errors import BadSpec
from cseb.methods.option_types import Count, DropoutRate, Rate
from cseb.parts import ALL, LossInputs, Reads, reads
from cseb.parts.base import EncoderPart, LossTerm
from cseb.parts.contract_checks import check_masked_lm
from cseb.parts.heads import INITIAL_SPREAD, start_as_bert, times_width
from cseb.parts.terms.masked_language_modelling import corrupt, joined, load_masked_lm, masked_language, select

EPSILON = 1e-12  # of the new layers' norms: BERT's


def with_vector_first(states: Tensor, vectors: Tensor) -> Tensor:
    """Replace the first of states (N, T, D), constants, by the unmasked texts' vectors (N, D)."""
    return torch.cat([vectors[:, None].to(states.dtype), states[:, 1:].detach()], dim=1)


def load_first_layers(folder: Path, layers: int) -> Any:
    """Return the masked-LM model of a folder with its first layers only, dropout off. Raises: BadData."""
    config = configuration(folder)
    config.num_hidden_layers = layers
    if kinds := getattr(config, "layer_types", None):  # one entry for each layer, as in ModernBERT
        config.layer_types = kinds[:layers]
    return load_masked_lm(folder, "encoder", "get its files again", config).eval()


class AuxMLM(EncoderPart, LossTerm):
    """A small network predicts masked tokens from weak token states and the sentence vector of the unmasked text.

    The first `frozen_layers` layers of the encoder as loaded, frozen and without dropout, read all views with `rate`
    of their own tokens hidden (80 % as the mask token, 10 % as any word, 10 % as they are). `layers` new Transformer
    layers get these states, with the pooled vector of the unmasked view in place of the first, and a copy of the
    masked-LM head names the hidden tokens. New layers and head are trained, and gone at test; the encoder learns
    through its vector alone. frozen_layers: a number, or "half" of the encoder's. inner: width inside the new layers,
    a number or times the encoder's ("4x"). dropout: of the new layers. Source: Wu et al. 2022 (InfoCSE), authors'
    code; the design of the network is Condenser's (Gao & Callan 2021). Raises: BadSpec on an encoder without a mask
    token or masked-LM head, or with fewer layers; BadData where the masked-LM model cannot be loaded.
    """

    preset: ClassVar = {"weight": 1e-5}  # InfoCSE release: 6 of 12 layers frozen
    version: ClassVar[int] = 2
    requires: ClassVar[str] = "masked-LM head"
    needs: ClassVar[frozenset[str]] = frozenset({CONTEXT})
    views: ClassVar[int] = 1
    reads: ClassVar[Reads] = reads("h", views=ALL, tokens=ALL)
    rate: Rate = 0.4
    frozen_layers: Count | Literal["half"] = "half"
    layers: Count = 2
    inner: Count | str = "4x"
    dropout: DropoutRate = 0.1

    def __post_init__(self) -> None:
        shape = self.shape
        check_masked_lm("aux_mlm", shape)
        self.depth = max(shape.layers // 2, 1) if self.frozen_layers == "half" else self.frozen_layers
        if self.depth > shape.layers:
            raise BadSpec(f"aux_mlm: frozen_layers is {self.depth}, this encoder has {shape.layers}; take no more")
        sizes = (shape.width, shape.heads, times_width(self.inner, shape.width, "aux_mlm: inner"), self.dropout)
        self.new_layers = nn.ModuleList(
            nn.TransformerEncoderLayer(*sizes, F.gelu, EPSILON, batch_first=True) for _ in range(self.layers)
        )
        for layer in self.new_layers:
            layer.dropout = nn.Identity()  # torch has a dropout behind the activation, BERT has none
        for module in self.new_layers.modules():
            if isinstance(module, nn.Linear):
                start_as_bert(module)
            if isinstance(module, nn.MultiheadAttention):  # its three maps in one are no linear layer to torch
                nn.init.normal_(module.in_proj_weight, std=INITIAL_SPREAD)

    def setup(self, encoder: Encoder) -> None:
        """Load the frozen layers and the head from the encoder's files."""
        assert self.shape.folder is not None
        model = load_first_layers(self.shape.folder, self.depth)
        self.frozen: nn.Module = model.base_model.requires_grad_(False)
        # The copy's output layer is no longer tied to the frozen word embeddings, so that it can be trained.
        self.language_weights = copy.deepcopy(LanguageWeights(model)).requires_grad_(True)
        self.language: Callable[[Tensor], Tensor] = LANGUAGE_HEADS[model.config.model_type](self.language_weights)

    def forward(self, step: LossInputs) -> Tensor:
        """Return a scalar in nats: the mean over the hidden tokens of all views."""
        ids, mask, content, vectors = joined(step.views, "ids", "mask", "content", "h")
        selected = select(content, self.rate, step.rng)
        hidden = corrupt(ids, selected, self.shape.mask_id, self.shape.vocabulary, step.rng)
        states = self.states(hidden, mask, vectors)
        return masked_language(self.language(states[selected]), ids[selected])

    def states(self, ids: Tensor, mask: Tensor, vectors: Tensor) -> Tensor:
        """Return the states (N, T, D) after the new layers, for masked ids (N, T), mask (N, T) and vectors (N, D)."""
        self.frozen.eval()  # also when the method trains
        with torch.no_grad():
            outputs: Any = self.frozen(input_ids=ids, attention_mask=mask, return_dict=True)
        states = with_vector_first(outputs.last_hidden_state, vectors)
        for layer in self.new_layers:
            states = layer(states, src_key_padding_mask=mask == 0)
        return states
