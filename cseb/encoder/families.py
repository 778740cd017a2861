"""What families of encoders differ in for parts and users: what their states are of, and how they are pooled.

A family is known by the `model_type` of its configuration. Most read a sentence from both sides; decoders only what
stands before a token; a table of token vectors nothing around it. A further kind of backbone is a row of FAMILIES
here, and a model that AutoModel loads.
"""

from __future__ import annotations

from collections.abc import Mapping

from transformers.models.auto.modeling_auto import (
    MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
    MODEL_FOR_MASKED_LM_MAPPING_NAMES,
)

from cseb.encoder import static_embedding  # which makes AutoModel know it
from cseb.encoder.interface import BOTH_SIDES, EMBEDDINGS, GIVEN, LANGUAGE, POOLED, Family

BIDIRECTIONAL = Family()
DECODER = Family(
    GIVEN - {BOTH_SIDES, POOLED, EMBEDDINGS}, "last", "a decoder, trained with each token blind to those behind it"
)
FAMILIES: Mapping[str, Family] = {
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
    """The family of a configuration; decoders are those that the library trains on next words, never on hidden ones."""
    if model_type in FAMILIES:
        return FAMILIES[model_type]
    causal = model_type in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES and model_type not in MODEL_FOR_MASKED_LM_MAPPING_NAMES
    return DECODER if causal else BIDIRECTIONAL
