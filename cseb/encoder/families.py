"""Families of encoders, by the `model_type` of their configuration: what they give to parts, and their default pooler.

A further kind of backbone needs a row of FAMILIES and a model that AutoModel loads.
"""

from __future__ import annotations

from collections.abc import Mapping

from transformers.models.auto.modeling_auto import (
    MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
    MODEL_FOR_MASKED_LM_MAPPING_NAMES,
)

from cseb.encoder import static_embedding  # registers it with AutoModel
from cseb.encoder.backbone import TEXT_ENCODERS
from cseb.encoder.interface import BOTH_SIDES, EMBEDDINGS, GIVEN, LANGUAGE, POOLED, Family

BIDIRECTIONAL = Family()
DECODER = Family(GIVEN - {BOTH_SIDES, POOLED, EMBEDDINGS}, "last", "a decoder, trained with causal attention")
T5 = Family(GIVEN - {POOLED, EMBEDDINGS, LANGUAGE}, "mean", "the encoder of a T5 model")
FAMILIES: Mapping[str, Family] = {
    **dict.fromkeys(TEXT_ENCODERS, T5),
    static_embedding.MODEL_TYPE: Family(
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
