"""Masked-LM heads, from token states to vocabulary logits: those of checkpoints, and a tied one as fallback."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

# The head in a masked-LM model of each family, and a weight that only checkpoints with the head have.
LANGUAGE_HEADS: dict[str, Callable[[Any], Callable[[Tensor], Tensor]]] = {
    "bert": lambda model: model.cls,
    "roberta": lambda model: model.lm_head,
    "xlm-roberta": lambda model: model.lm_head,
    "mpnet": lambda model: model.lm_head,
    "distilbert": lambda model: (
        lambda states: model.vocab_projector(model.vocab_layer_norm(model.activation(model.vocab_transform(states))))
    ),
    "modernbert": lambda model: lambda states: model.decoder(model.head(states)),
    "albert": lambda model: model.predictions,
    "electra": lambda model: lambda states: model.generator_lm_head(model.generator_predictions(states)),
    "deberta-v2": lambda model: model.cls,
}
LANGUAGE_MARKS = {
    "bert": "cls.predictions.transform.dense.weight",
    "roberta": "lm_head.dense.weight",
    "xlm-roberta": "lm_head.dense.weight",
    "mpnet": "lm_head.dense.weight",
    "distilbert": "vocab_transform.weight",
    "modernbert": "head.dense.weight",
    "albert": "predictions.dense.weight",
    "electra": "generator_predictions.dense.weight",
    "deberta-v2": "cls.predictions.transform.dense.weight",
}


class LanguageWeights(nn.Module):
    """The weights of a masked-LM model that are not in its backbone."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        for name, child in model.named_children():
            if child is not model.base_model:
                self.add_module(name, child)


class TiedOutput(nn.Module):
    """Logits from the word embeddings and a new bias, for checkpoints without a masked-LM head.

    width: of the states; a new linear map comes first if word embeddings are narrower, as in ALBERT.
    """

    def __init__(self, words: nn.Embedding, width: int) -> None:
        super().__init__()
        own = words.embedding_dim
        self.narrow = nn.Identity() if own == width else nn.Linear(width, own)
        self.bias = nn.Parameter(torch.zeros(words.num_embeddings))
        self.words = [words]  # in a list, because the backbone owns them

    def forward(self, states: Tensor) -> Tensor:
        """Map states (M, D) to logits (M, V)."""
        return F.linear(self.narrow(states), self.words[0].weight, self.bias)
