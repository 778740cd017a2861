"""Static embeddings as a backbone: the state of a token is its row in a table, independent of context.

Importing this module registers its configuration and class with AutoConfig and AutoModel. Its only tensor is called
`embedding.weight`, as in sentence-transformers' StaticEmbedding, which can therefore read the same folder.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn
from transformers import AutoConfig, AutoModel, PretrainedConfig, PreTrainedModel
from transformers.modeling_outputs import BaseModelOutput

from cseb.data.made_encoders import LONGEST, MODEL_TYPE


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
