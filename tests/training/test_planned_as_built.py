"""What planning says of a method and an encoder, building it says too: no job of a grid is refused after its start."""

from pathlib import Path

import pytest
import transformers
from transformers import AutoModel

from cseb.errors import BadSpec
from cseb.methods.grammar import parse_method
from cseb.registry import METHODS
from cseb.training.build import build, check
from tests.conftest import save_tokenizer
from tests.training.small_runs import FIT

SIZES = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
DISTIL = {"dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 32}
FAMILIES = {
    "Bert": SIZES,
    "XLMRoberta": SIZES,
    "MPNet": SIZES,
    "DebertaV2": SIZES,
    "ModernBert": SIZES,
    "Albert": {**SIZES, "embedding_size": 8},
    "Electra": {**SIZES, "embedding_size": 8},
    "DistilBert": DISTIL,
    "GPT2": {**SIZES, "n_embd": 16},
    "OPT": {**SIZES, "ffn_dim": 32, "word_embed_proj_dim": 16},
    "Qwen3": {**SIZES, "num_key_value_heads": 2, "head_dim": 8},
}


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_what_is_planned_can_be_built_and_what_is_refused_cannot(tmp_path: Path, family: str) -> None:
    config = getattr(transformers, f"{family}Config")
    sizes = {"vocab_size": save_tokenizer(tmp_path), "pad_token_id": 0, "max_position_embeddings": 80}
    AutoModel.from_config(config(**sizes, **FAMILIES[family])).save_pretrained(tmp_path)
    answers = {name: refusals(name + FIT.get(name, ""), tmp_path) for name in METHODS}
    assert {name: both for name, both in answers.items() if (both[0] is None) != (both[1] is None)} == {}
    assert any(planned is None for planned, _ in answers.values())


def refusals(text: str, folder: Path) -> tuple[str | None, str | None]:
    """What planning a method and building it say against it, None for nothing."""
    method = parse_method(text).at(1.0)
    results: list[str | None] = []
    for step in (lambda: check(method, folder), lambda: build(method, folder, 0)):
        try:
            step()
            results.append(None)
        except BadSpec as error:
            results.append(str(error))
    return results[0], results[1]
