"""Families of encoders, by the `model_type` of their configuration: how they load, and what they give to parts.

A further kind of backbone needs a row of FAMILIES and a model that AutoModel loads.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import torch
from torch import nn
from transformers import AutoModel, AutoModelForTextEncoding
from transformers.models.auto.modeling_auto import (
    MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
    MODEL_FOR_MASKED_LM_MAPPING_NAMES,
)

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


BIDIRECTIONAL = Family()
DECODER = Family(GIVEN - {BOTH_SIDES, POOLED, EMBEDDINGS}, "last", "a decoder, trained with causal attention")
T5 = Family(GIVEN - {POOLED, EMBEDDINGS, LANGUAGE}, "mean", "the encoder of a T5 model")
FAMILIES = {
    **dict.fromkeys(TEXT_ENCODERS, T5),
    "eurobert": Family(GIVEN - {EMBEDDINGS}, what="a EuroBERT, which has word embeddings alone"),
    "longformer": Family(GIVEN - {EMBEDDINGS}, what="a Longformer, which pads batches before it embeds them"),
}


def family_of(model_type: str) -> Family:
    """Return the family of a `model_type`; decoders have a causal language model and no masked one in transformers."""
    if model_type in FAMILIES:
        return FAMILIES[model_type]
    causal = model_type in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES and model_type not in MODEL_FOR_MASKED_LM_MAPPING_NAMES
    return DECODER if causal else BIDIRECTIONAL
