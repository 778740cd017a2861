"""Families of encoders, by the `model_type` of their configuration: how they load, and what they give to parts.

A further kind of backbone needs a row of FAMILIES and a model that AutoModel loads.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AutoConfig, AutoModel, AutoModelForTextEncoding, PretrainedConfig, PreTrainedModel
from transformers.modeling_outputs import BaseModelOutput
from transformers.models.auto.modeling_auto import (
    MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
    MODEL_FOR_MASKED_LM_MAPPING_NAMES,
)

from cseb.data.made_encoders import LONGEST, MODEL_TYPE
from cseb.encoder.interface import BOTH_SIDES, EMBEDDINGS, GIVEN, LANGUAGE, POOLED, Family

DEFAULT_LIMIT = 512  # tokens of a sentence if the configuration names no limit
TEXT_ENCODERS = (
    "t5",
    "mt5",
    "umt5",
)  # encoder-decoders whose encoder can be loaded alone
POSITION_TABLE = re.compile(r"(.*\.)?(\w*position_embeddings?|embed_positions|wpe)")


def network_class(config: Any) -> Any:
    """Return the class of transformers that loads the backbone of this configuration."""
    return AutoModelForTextEncoding if config.model_type in TEXT_ENCODERS else AutoModel


def load_pretrained(kind: Any, folder: Path, config: Any, **options: Any) -> tuple[Any, list[str], list[str]]:
    """Load a model in float32 from safetensors; return it, names of weights that the files lack, and of unused ones.

    kind: class of transformers, such as AutoModel. options: of `from_pretrained`.
    """
    model, info = kind.from_pretrained(
        folder, config=config, output_loading_info=True, use_safetensors=True, dtype=torch.float32, **options
    )
    return model, sorted(info["missing_keys"]), sorted(info["unexpected_keys"])


def position_limit(backbone: nn.Module) -> int:
    """Return the number of tokens that the backbone can place, special tokens included.

    In RoBERTa, MPNet and others positions start after the padding id, so that their table has fewer places than rows.
    """
    config: Any = backbone.config
    limit = getattr(config, "max_position_embeddings", None) or DEFAULT_LIMIT
    limit = int(limit) if limit > 0 else DEFAULT_LIMIT  # XLNet has -1
    for name, module in backbone.named_modules():
        weight = getattr(module, "weight", None)
        if POSITION_TABLE.fullmatch(name) and weight is not None and weight.dim() == 2:
            padding_id = getattr(module, "padding_idx", None)
            skipped = getattr(module, "offset", 0) if padding_id is None else padding_id + 1
            limit = min(limit, len(weight) - skipped)
    return limit


class StaticEmbeddingConfig(PretrainedConfig):  # type: ignore[no-untyped-call]  # the library's own subclassing
    """Configuration: V tokens, width D; dropout: rate on the table's rows, 0 unless a recipe sets it."""

    model_type = MODEL_TYPE

    def __init__(self, vocab_size: int = 1, hidden_size: int = 1, dropout: float = 0.0, **rest: Any) -> None:
        self.vocab_size, self.hidden_size, self.dropout = vocab_size, hidden_size, dropout
        self.num_hidden_layers = 0
        self.num_attention_heads = 1  # of networks that parts add
        self.max_position_embeddings = LONGEST
        super().__init__(**rest)


class StaticEmbedding(PreTrainedModel):  # type: ignore[no-untyped-call]
    """Map token ids (B, T) to their rows (B, T, D)."""

    config_class = StaticEmbeddingConfig
    base_model_prefix = ""

    def __init__(self, config: StaticEmbeddingConfig) -> None:
        super().__init__(config)
        self.embedding = nn.Embedding(config.vocab_size, config.hidden_size)
        self.dropout = nn.Dropout(config.dropout)
        self.post_init()  # type: ignore[no-untyped-call]

    @property
    def embeddings(self) -> nn.Embedding:
        """Return the embedding layer, under the name that other families use."""
        return self.embedding

    def get_input_embeddings(self) -> nn.Module:
        """Return the table."""
        return self.embedding

    def set_input_embeddings(self, value: nn.Module) -> None:
        """Replace the table."""
        assert isinstance(value, nn.Embedding)
        self.embedding = value

    def forward(self, input_ids: Tensor, attention_mask: Tensor | None = None, **_: Any) -> BaseModelOutput:
        """Return the states (B, T, D)."""
        return BaseModelOutput(last_hidden_state=self.dropout(self.embedding(input_ids)))


__all__ = ["MODEL_TYPE", "StaticEmbedding", "StaticEmbeddingConfig"]

AutoConfig.register(MODEL_TYPE, StaticEmbeddingConfig)
AutoModel.register(StaticEmbeddingConfig, StaticEmbedding)


BIDIRECTIONAL = Family()
DECODER = Family(GIVEN - {BOTH_SIDES, POOLED, EMBEDDINGS}, "last", "a decoder, trained with causal attention")
T5 = Family(GIVEN - {POOLED, EMBEDDINGS, LANGUAGE}, "mean", "the encoder of a T5 model")
FAMILIES: Mapping[str, Family] = {
    **dict.fromkeys(TEXT_ENCODERS, T5),
    MODEL_TYPE: Family(
        gives=frozenset({LANGUAGE, EMBEDDINGS}),
        pooler="mean",
        what="a table of token vectors: no layers, no attention",
        layers=False,
        module="StaticEmbedding",
        pools=True,
    ),
}


def family_of(model_type: str) -> Family:
    """Return the family of a `model_type`; decoders have a causal language model and no masked one in transformers."""
    if model_type in FAMILIES:
        return FAMILIES[model_type]
    causal = model_type in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES and model_type not in MODEL_FOR_MASKED_LM_MAPPING_NAMES
    return DECODER if causal else BIDIRECTIONAL
