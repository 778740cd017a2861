"""Configurations of strangers: sizes that make no encoder, settings that lead elsewhere, files that are none."""

import json
import shutil
from pathlib import Path

import pytest

from cseb.data.weights import find_encoder
from cseb.embedders import find
from cseb.embedders.interface import EncoderOptions
from tests.embedders.folders import CODE, Tiny, change, not_planned, refused, write


@pytest.mark.parametrize(
    ("file", "values", "message"),
    [
        ("config.json", {"auto_map": {"AutoModel": "custom.Custom"}}, "auto_map refers to custom code"),
        ("tokenizer_config.json", {"auto_map": {"AutoTokenizer": ["custom.Custom", None]}}, "refers to custom code"),
        ("config.json", {"transformers_weights": "other.safetensors"}, "transformers_weights is not supported"),
        ("config.json", {"quantization_config": {"quant_method": "awq"}}, "quantization_config is not supported"),
        ("config.json", {"attn_implementation": "someone/kernel"}, "names a downloadable kernel"),
        ("config.json", {"sub_config": [{"_attn_implementation": {"": "a/kernel"}}]}, "names a downloadable kernel"),
        ("adapter_config.json", {"base_model_name_or_path": "someone/else"}, "weights of another model are needed"),
    ],
)
def test_links_elsewhere_are_refused(
    tiny: Tiny, canary: Path, file: str, values: dict[str, object], message: str
) -> None:
    folder = Path(shutil.copytree(tiny("bert"), "encoder"))
    (folder / "custom.py").write_text(CODE.format(canary=str(canary)))
    write(folder / file, {**(json.loads((folder / file).read_text()) if (folder / file).exists() else {}), **values})
    refused(folder, message, "--pooler", "mean")
    not_planned(folder)
    assert not canary.exists()


@pytest.mark.parametrize(
    "values",
    [
        {"hidden_size": 0}, {"hidden_size": 17}, {"hidden_size": -16}, {"hidden_size": "wide"}, {"hidden_size": None},
        {"hidden_size": 32}, {"hidden_size": 10**9}, {"hidden_size": 10**400}, {"hidden_size": [16]},
        {"num_attention_heads": 0}, {"num_attention_heads": 3}, {"num_attention_heads": True},
        {"num_hidden_layers": 0}, {"num_hidden_layers": 10**8}, {"num_hidden_layers": -1},
        {"pad_token_id": 10_000}, {"pad_token_id": -1000}, {"vocab_size": 0}, {"vocab_size": 20}, {"vocab_size": 10**7},
        {"max_position_embeddings": 0}, {"max_position_embeddings": 4}, {"max_position_embeddings": 10**9},
        {"intermediate_size": 0}, {"intermediate_size": 10**9}, {"hidden_act": "none"}, {"hidden_act": {}},
        {"hidden_dropout_prob": 7}, {"layer_norm_eps": float("nan")}, {"initializer_range": float("inf")},
        {"num_labels": 10**9}, {"model_type": "none"}, {"model_type": 3}, {"type_vocab_size": 0},
    ],
    ids=lambda values: f"{next(iter(values.items()))!s:.40}",
)  # fmt: skip
def test_sizes_that_make_no_encoder_are_refused_while_planning(tiny: Tiny, values: dict[str, object]) -> None:
    folder = Path(shutil.copytree(tiny("bert"), "encoder"))
    change(folder / "config.json", **values)
    not_planned(folder)
    refused(folder, "encoder", "--pooler", "mean")


@pytest.mark.parametrize("family", ["bert", "roberta", "mpnet", "modernbert", "distilbert"])
def test_layers_that_would_not_be_used_are_named(tiny: Tiny, family: str) -> None:
    """A config.json of fewer layers than the weights have; masked-LM heads, which all of these hold, are left out."""
    name = "n_layers" if family == "distilbert" else "num_hidden_layers"
    folder = Path(shutil.copytree(tiny(family), "encoder"))
    change(
        folder / "config.json", **{name: 1}, **({"layer_types": ["full_attention"]} if family == "modernbert" else {})
    )
    not_planned(folder)
    refused(folder, " of its files, so its vectors would be those of another model", "--pooler", "mean")


def test_an_encoder_that_was_shortened_on_purpose_is_read(tiny: Tiny) -> None:
    """As the guide says it is done."""
    from transformers import AutoModel

    AutoModel.from_pretrained(tiny("bert"), num_hidden_layers=1).save_pretrained("short")
    refused(Path("short"), "its tokenizer has no vocabulary", "--pooler", "mean")
    for file in tiny("bert").glob("*token*"):
        shutil.copy(file, "short")
    assert find("short", EncoderOptions(pooler="mean")).open()(["a man"]).shape == (1, 16)


@pytest.mark.parametrize("name", ["spm.model", "bpe.codes"])
def test_every_file_of_a_vocabulary_belongs_to_the_encoder(tiny: Tiny, name: str) -> None:
    folder = Path(shutil.copytree(tiny("bert"), "encoder"))
    hashes = set()
    for content in (None, "a", "b"):
        if content:
            (folder / name).write_text(content)
        hashes.add(find_encoder(str(folder))[1])
    assert len(hashes) == 3


@pytest.mark.parametrize("file", ["config.json", "tokenizer_config.json", "tokenizer.json", "special_tokens_map.json"])
@pytest.mark.parametrize(
    "content",
    [b"[" * 100_000 + b"]" * 100_000, b'{"a":' * 100_000 + b"1" + b"}" * 100_000, b"", b"\xff", b"[]", b"null",
     b'{"cls_token": "\\ud800", "model_type": "\\ud800"}', b'{"a": ' + b"9" * 5000 + b"}"],
    ids=["brackets", "braces", "empty", "bytes", "list", "null", "surrogate", "digits"],
)  # fmt: skip
def test_small_files_that_cannot_be_are_one_line(tiny: Tiny, file: str, content: bytes) -> None:
    folder = Path(shutil.copytree(tiny("bert"), "encoder"))
    (folder / file).write_bytes(content)
    refused(folder, "", "--pooler", "mean")
