"""Does this version of transformers switch a decoder's attention to both sides? Older ones ignore the configuration."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import torch
import transformers
from transformers import AutoModel, LlamaConfig

from cseb.data.bidirectional import FAMILIES, SWITCH
from cseb.errors import BadData


def check(folder: Path, config: Any) -> None:
    """Raises: BadData if a decoder's configuration asks for attention to both sides and would not get it."""
    if getattr(config, SWITCH, True) is False and config.model_type in FAMILIES and not _honoured():
        raise BadData(
            f"encoder {folder}: its config.json says {SWITCH}: false, which transformers {transformers.__version__} "
            "ignores; install a newer one"
        )


@cache
def _honoured() -> bool:
    """Whether a token of a random decoder sees the one behind it, without padding and with it."""
    sizes = {"hidden_size": 4, "intermediate_size": 4, "num_hidden_layers": 1, "num_attention_heads": 1}
    options: dict[str, Any] = {**sizes, "vocab_size": 4, SWITCH: False}
    config = LlamaConfig(**options)
    made: Any = AutoModel
    with torch.random.fork_rng(devices=[]), torch.device("cpu"), torch.no_grad():
        torch.manual_seed(0)
        decoder = made.from_config(config).eval()
        ids = torch.tensor([[1, 2], [1, 3]])
        found = [
            decoder(input_ids=torch.cat([ids, ids[:1]]), attention_mask=torch.tensor([[1, 1], [1, 1], [1, last]]))
            for last in (1, 0)
        ]
    return not any(torch.equal(one.last_hidden_state[0, 0], one.last_hidden_state[1, 0]) for one in found)
