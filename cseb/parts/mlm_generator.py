"""A frozen masked-language model that fills in tokens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from cseb.data import checkpoint
from cseb.data.weights import locate
from cseb.errors import BadData, BadSpec, first_line

ROWS = 32  # filled in at once; logits over a vocabulary are large


def find_generator(name: str, folder: Path | None, vocabulary: int) -> Path:
    """Return the folder of a generator. name: "self" for the encoder's own `folder`, else a folder or hub name.

    Raises: BadData if there is none, BadSpec if it has another vocabulary.
    """
    from transformers import AutoConfig

    if name == "self" and folder is not None:
        return folder
    try:
        path = locate(name)
        checkpoint.check(path)
        size = AutoConfig.from_pretrained(path, trust_remote_code=False).vocab_size
    except Exception as error:  # transformers raises whatever its parsers do
        raise BadData(f"generator {name}: {first_line(error)}; `generator=self` needs no other") from None
    if size != vocabulary:
        raise BadSpec(
            f"generator {name}: knows {size} word pieces, the encoder {vocabulary}; take one of the same vocabulary, "
            "or generator=self"
        )
    return path


class Generator(nn.Module):
    """Predict a token at every position: the most probable one, or one sampled from the distribution.

    In training mode its dropout is on. Raises: BadData if the files at `path` are no masked-language model.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        from transformers import AutoModelForMaskedLM

        try:
            model: Any
            model, info = AutoModelForMaskedLM.from_pretrained(
                path, use_safetensors=True, dtype=torch.float32, output_loading_info=True, trust_remote_code=False
            )
        except Exception as error:  # transformers raises whatever its parsers do
            raise BadData(f"generator {path}: cannot be loaded: {first_line(error)}; take generator=self") from None
        if missing := sorted(name for name in info["missing_keys"] if "pooler" not in name):
            raise BadData(f"generator {path}: lacks weights such as {missing[0]}; name a model with a masked-LM head")
        self.model = model.requires_grad_(False)

    @torch.no_grad()
    def forward(self, ids: Tensor, mask: Tensor, sample: bool, rng: torch.Generator) -> Tensor:
        """Return predicted ids (N, T) for ids (N, T) and mask (N, T)."""
        predicted = []
        for chunk, chunk_mask in zip(torch.split(ids, ROWS), torch.split(mask, ROWS), strict=True):
            logits = self.model(input_ids=chunk, attention_mask=chunk_mask).logits  # (n, T, V)
            if sample:
                sampled = torch.multinomial(logits.float().softmax(dim=-1).flatten(0, 1), 1, generator=rng)
                predicted.append(sampled.view(chunk.shape))
            else:
                predicted.append(logits.argmax(dim=-1))
        return torch.cat(predicted)
