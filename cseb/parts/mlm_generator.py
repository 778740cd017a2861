"""A frozen masked-language model that fills in words; it knows transformers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from cseb.data import checkpoint
from cseb.data.weights import locate
from cseb.errors import BadData, BadSpec

ROWS = 32  # filled in at once; logits over a vocabulary are large


def find_generator(name: str, folder: Path | None, vocabulary: int) -> Path:
    """Where a generator lies. name: "self" for the encoder's own `folder`, else a folder or hub name.

    Raises: BadData if there is none, BadSpec if it has another vocabulary.
    """
    from transformers import AutoConfig

    if name == "self" and folder is not None:
        return folder
    try:
        place = locate(name)
        checkpoint.check(place)
        known = AutoConfig.from_pretrained(place, trust_remote_code=False).vocab_size
    except Exception as error:  # transformers raises whatever its parsers do
        raise BadData(f"generator {name}: {_first_line(error)}; `generator=self` needs no other") from None
    if known != vocabulary:
        raise BadSpec(
            f"generator {name}: knows {known} word pieces, the encoder {vocabulary}; take one of the same vocabulary, "
            "or generator=self"
        )
    return place


class Generator(nn.Module):
    """Token ids to the word that fits best at every position, or to one drawn from the model's distribution.

    In training mode its dropout is on. Raises: BadData if the files at `place` are no masked-language model.
    """

    def __init__(self, place: Path) -> None:
        super().__init__()
        from transformers import AutoModelForMaskedLM

        try:
            model: Any
            model, info = AutoModelForMaskedLM.from_pretrained(
                place, use_safetensors=True, dtype=torch.float32, output_loading_info=True, trust_remote_code=False
            )
        except Exception as error:  # transformers raises whatever its parsers do
            raise BadData(f"generator {place}: cannot be loaded: {_first_line(error)}; take generator=self") from None
        if missing := sorted(name for name in info["missing_keys"] if "pooler" not in name):
            raise BadData(f"generator {place}: lacks weights such as {missing[0]}; name a model with a masked-LM head")
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


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)[:200]
