"""A frozen masked-language model that fills in words; it knows transformers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from cseb.data.weights import find_encoder
from cseb.errors import BadData, BadSpec

ROWS = 32  # filled in at once; logits over a vocabulary are large


class Generator(nn.Module):
    """Token ids to the word that fits best at every position, or to one drawn from the model's distribution.

    name: "self" for the files of the encoder that is trained, else a folder or hub name. In training mode its dropout
    is on. Raises: BadData if it cannot be loaded, BadSpec if it has another vocabulary.
    """

    def __init__(self, name: str, folder: Path | None, vocabulary: int) -> None:
        super().__init__()
        from transformers import AutoModelForMaskedLM

        place = find_encoder(name)[0] if name != "self" or folder is None else folder
        try:
            model: Any = AutoModelForMaskedLM.from_pretrained(place, use_safetensors=True, dtype=torch.float32)
        except Exception as error:  # transformers raises whatever its parsers do
            reason = next(iter(str(error).splitlines()), type(error).__name__)[:200]
            raise BadData(f"generator {name}: cannot be loaded: {reason}; `generator=self` needs no other") from None
        if model.config.vocab_size != vocabulary:
            raise BadSpec(
                f"generator {name}: knows {model.config.vocab_size} word pieces, the encoder {vocabulary}; take one of "
                "the same vocabulary, or generator=self"
            )
        self.model = model.requires_grad_(False)

    @torch.no_grad()
    def forward(self, ids: Tensor, mask: Tensor, sample: bool, rng: torch.Generator) -> Tensor:
        """Ids (N, T) and mask (N, T) to ids (N, T)."""
        found = []
        for some, real in zip(torch.split(ids, ROWS), torch.split(mask, ROWS), strict=True):
            logits = self.model(input_ids=some, attention_mask=real).logits  # (n, T, V)
            if sample:
                drawn = torch.multinomial(logits.float().softmax(dim=-1).flatten(0, 1), 1, generator=rng)
                found.append(drawn.view(some.shape))
            else:
                found.append(logits.argmax(dim=-1))
        return torch.cat(found)
