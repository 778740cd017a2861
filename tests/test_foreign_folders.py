"""Folders of strangers: nothing of theirs runs, no pickle is opened, and what is wrong is one line.

The tests on sentence-transformers hold with any of its versions: up to 5 the library imports what a folder names.
"""

from __future__ import annotations

import json
import os
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from cseb.cli import app
from cseb.data import tensors
from cseb.embedders import find
from cseb.embedders import foreign_modules as foreign
from cseb.embedders.interface import EncoderOptions
from cseb.errors import BadData
from tests.conftest import SENTENCES
from tests.stderr_lines import without_progress

Tiny = Callable[[str], Path]
OLD = "sentence_transformers.models."
CODE = """
import pathlib
pathlib.Path({canary!r}).touch()
from torch import nn
class Custom(nn.Module):
    def forward(self, features):
        return features
    @classmethod
    def load(cls, *args, **kwargs):
        return cls()
    save = config_file_name = None
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def canary(tmp_path: Path) -> Path:
    """A file that is there once code of the folder's has run."""
    return tmp_path / "canary"


class Payload:
    """Touches the canary when it is unpickled."""

    def __init__(self, canary: Path) -> None:
        self.canary = canary

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.canary,)


def write(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))


def change(path: Path, **values: object) -> None:
    write(path, {**json.loads(path.read_text()), **values})


def st_folder(encoder: Path, folder: Path, further: tuple[tuple[str, str], ...] = ()) -> Path:
    """A model of sentence-transformers with mean pooling, and further modules (type, path) behind it."""
    shutil.copytree(encoder, folder)
    modules = ((f"{OLD}Transformer", ""), (f"{OLD}Pooling", "1_Pooling"), *further)
    listed = [{"idx": i, "name": str(i), "type": kind, "path": path} for i, (kind, path) in enumerate(modules)]
    write(folder / "modules.json", listed)
    write(folder / "1_Pooling/config.json", {"word_embedding_dimension": 16, "pooling_mode_mean_tokens": True})
    write(folder / "sentence_bert_config.json", {"max_seq_length": 64, "do_lower_case": False})
    return folder


def with_dense(encoder: Path, folder: Path, **options: object) -> Path:
    """As `st_folder`, with a dense layer from 16 to 4."""
    import torch
    from safetensors.torch import save_file

    st_folder(encoder, folder, ((f"{OLD}Dense", "2_Dense"),))
    activation = "torch.nn.modules.activation.Tanh"
    settings = {"in_features": 16, "out_features": 4, "bias": True, "activation_function": activation, **options}
    write(folder / "2_Dense/config.json", settings)
    save_file({"linear.weight": torch.ones(4, 16), "linear.bias": torch.zeros(4)}, folder / "2_Dense/model.safetensors")
    return folder


def call(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["eval", *map(str, arguments), "--tasks", "mw-captions", "--device", "cpu"])


def refused(name: object, message: str, *arguments: object) -> None:
    """One line, exit 2."""
    found = call(name, *arguments)
    assert (found.exit_code, len(without_progress(found.stderr))) == (2, 1), found.output
    assert message in found.stderr, found.stderr
    assert len(found.stderr) < 1500


def not_planned(encoder: Path) -> None:
    """A grid with this encoder is refused before its first job, in one line."""
    grid = ["run", "microworld", "--encoder", str(encoder), "--methods", "simcse", "--seeds", "1", "--steps", "1"]
    small = ["--corpus", "microworld:200", "--sizes", "100"]  # made at once, so that no line says how far it is
    found = CliRunner().invoke(app, [*grid, *small])
    assert (found.exit_code, len(without_progress(found.stderr))) == (2, 1), found.output
    assert found.stderr.startswith("cseb: ")
    assert not list(Path("results").rglob("*.jsonl"))


def test_what_is_right_is_loaded(tiny: Tiny) -> None:
    pytest.importorskip("sentence_transformers")
    folder = with_dense(tiny("bert"), Path("st"))
    embedder = find(str(folder), EncoderOptions())
    assert embedder.open()(SENTENCES).shape == (len(SENTENCES), 4)
    assert "modules=('Transformer', 'Pooling', 'Dense')" in embedder.resolved
    kinds = [f"sentence_transformers.{place}" for place in ("base.modules.dense.Dense", "models.Dense.Dense")]
    for kind in kinds:
        listed = json.loads((folder / "modules.json").read_text())
        listed[2]["type"] = kind
        write(folder / "modules.json", listed)
        assert [module.kind for module in foreign.check(folder)] == ["Transformer", "Pooling", "Dense"]


@pytest.mark.parametrize(
    "kind",
    ["custom.Custom", "sentence_transformers_custom.Custom", "sentence_transformers.SentenceTransformer",
     "sentence_transformers.models.custom.Custom", "sentence_transformers.models.Dense\n", "os.system", "Custom", ""],
)  # fmt: skip
def test_no_module_of_the_folder_is_imported(tiny: Tiny, canary: Path, kind: str) -> None:
    pytest.importorskip("sentence_transformers")
    folder = st_folder(tiny("bert"), Path("st"), ((kind, ""),))
    for name in ("custom", "sentence_transformers_custom"):
        (folder / f"{name}.py").write_text(CODE.format(canary=str(canary)))
        Path(f"{name}.py").write_text(CODE.format(canary=str(canary)))
    refused(folder, "is not a text module of sentence-transformers")
    refused(f"st:{folder}", "--trust-remote-code")
    with pytest.raises(BadData):
        find(str(folder), EncoderOptions()).open()
    assert not canary.exists()


def test_a_module_of_the_folder_runs_when_it_is_trusted(tiny: Tiny, canary: Path) -> None:
    pytest.importorskip("sentence_transformers")
    folder = st_folder(tiny("bert"), Path("st"), (("custom.Custom", ""),))
    (folder / "custom.py").write_text(CODE.format(canary=str(canary)))
    assert find(str(folder), EncoderOptions(trust_remote_code=True)).open()(["a man"]).shape == (1, 16)
    assert canary.exists()


@pytest.mark.parametrize("deep", [False, True])
@pytest.mark.parametrize("file", ["router_config.json", "config.json"])
def test_no_module_of_a_router_is_imported(tiny: Tiny, canary: Path, file: str, deep: bool) -> None:
    pytest.importorskip("sentence_transformers")
    folder = st_folder(tiny("bert"), Path("st"), ((f"{OLD}Router", "2_Router"),))
    Path("custom.py").write_text(CODE.format(canary=str(canary)))
    at = folder / "2_Router"
    if deep:
        write(at / file, {"types": {"inner": f"{OLD}Asym"}, "structure": {"query": ["inner"]}, "parameters": {}})
        at = at / "inner"
    write(at / file, {"types": {"0": "custom.Custom"}, "structure": {"query": ["0"]}, "parameters": {}})
    refused(folder, "'custom.Custom' is not a text module of sentence-transformers")
    assert not canary.exists()


def test_a_router_that_holds_itself_is_not_followed(tiny: Tiny) -> None:
    pytest.importorskip("sentence_transformers")
    folder = st_folder(tiny("bert"), Path("st"), ((f"{OLD}Router", "2_Router"),))
    write(folder / "2_Router/router_config.json", {"types": {"inner": f"{OLD}Router"}})
    (folder / "2_Router/inner").symlink_to(".")
    refused(folder, "or routers in routers")
    assert call(folder).stderr.count("inner") <= foreign.DEEPEST


@pytest.mark.parametrize(
    "named", ["custom.Custom", "torch.nn.modules.custom.Custom", "torch.hub.load", "os.abort", "torch.nn.Parameter", 3]
)
def test_no_activation_is_imported(tiny: Tiny, canary: Path, named: object) -> None:
    pytest.importorskip("sentence_transformers")
    Path("custom.py").write_text(CODE.format(canary=str(canary)))
    refused(with_dense(tiny("bert"), Path("st"), activation_function=named), "is not one of torch.nn's")
    assert not canary.exists()


def test_no_tokenizer_of_word_embeddings_is_imported(tiny: Tiny, canary: Path) -> None:
    pytest.importorskip("sentence_transformers")
    Path("custom.py").write_text(CODE.format(canary=str(canary)))
    folder = st_folder(tiny("bert"), Path("st"), ((f"{OLD}WordEmbeddings", "2_Words"),))
    write(folder / "2_Words/config.json", {"tokenizer_class": "custom.Custom"})
    refused(folder, "tokenizer_class 'custom.Custom' is not one of sentence-transformers'")
    assert not canary.exists()


def test_the_library_is_not_taken_from_the_folder(tiny: Tiny, canary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    folder = st_folder(tiny("bert"), Path("st"))
    (folder / "sentence_transformers.py").write_text(CODE.format(canary=str(canary)))
    monkeypatch.syspath_prepend(str(folder.resolve()))
    for name in [one for one in sys.modules if one.split(".")[0] == "sentence_transformers"]:
        monkeypatch.delitem(sys.modules, name)
    refused(folder, "holds a package called sentence_transformers that would be imported instead")
    assert not canary.exists()


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"model_args": {"gguf_file": "evil.gguf"}}, "gguf_file"),
        ({"model_args": {"attn_implementation": "someone/kernel"}}, "names a downloadable kernel"),
        ({"model_args": {"use_safetensors": False}}, "use_safetensors"),
        ({"model_kwargs": {"quantization_config": {"quant_method": "x"}}}, "quantization_config"),
        ({"tokenizer_args": {"tokenizer_file": "/elsewhere.json"}}, "tokenizer_file"),
        ({"config_args": {"auto_map": {"AutoConfig": "custom.Custom"}}}, "auto_map"),
        ({"tokenizer_name_or_path": "/elsewhere"}, "tokenizer_name_or_path"),
        ({"modality_config": {"text": {"method": "save_pretrained"}}}, "modality_config"),
        ({"transformer_task": "any-to-any"}, "transformer_task"),
    ],
)
def test_settings_that_lead_elsewhere_are_refused(tiny: Tiny, setting: dict[str, object], message: str) -> None:
    folder = st_folder(tiny("bert"), Path("st"))
    for name in foreign.SETTINGS[:2]:
        write(folder / name, setting)
        refused(folder, message)
        (folder / name).unlink()


@pytest.mark.parametrize("path", ["../outside", "/outside", "2_Dense/../../outside", "a" * 300, "nul\0l", 3, None])
def test_a_module_lies_in_the_folder(tiny: Tiny, path: object) -> None:
    folder = with_dense(tiny("bert"), Path("st"))
    shutil.move(folder / "2_Dense", "outside")
    listed = json.loads((folder / "modules.json").read_text())
    write(folder / "modules.json", [*listed[:2], {**listed[2], "path": path}])
    refused(folder, "modul" if path == "a" * 300 else "outside the folder") if path != "a" * 300 else refused(
        folder, "a" * 50
    )


def test_a_module_that_is_a_link_out_of_the_folder_is_not_followed(tiny: Tiny) -> None:
    """What lies behind it would be in no hash and under no guard."""
    folder = with_dense(tiny("bert"), Path("st"))
    shutil.move(folder / "2_Dense", "outside")
    (folder / "2_Dense").symlink_to(Path("outside").resolve())
    refused(folder, "points outside the model's folder")


def test_what_only_the_first_sentence_proves_impossible_is_refused(tiny: Tiny) -> None:
    pytest.importorskip("sentence_transformers")
    folder = with_dense(tiny("bert"), Path("st"))
    change(folder / "config.json", num_attention_heads=-1)
    refused(folder, "sentence-transformers cannot load it")


@pytest.mark.parametrize("kind", foreign.WITH_WEIGHTS)
def test_a_decoy_beside_a_pickle_does_not_get_it_opened(tiny: Tiny, canary: Path, kind: str) -> None:
    pytest.importorskip("sentence_transformers")
    folder = with_dense(tiny("bert"), Path("st"))
    listed = json.loads((folder / "modules.json").read_text())
    write(folder / "modules.json", [*listed[:2], {**listed[2], "type": OLD + kind}])
    change(folder / "2_Dense/config.json", tokenizer_class=f"{OLD}tokenizer.WhitespaceTokenizer")
    (folder / "2_Dense/model.safetensors").rename(folder / "2_Dense/decoy.safetensors")
    refused(folder, "has no model.safetensors")
    (folder / "2_Dense/pytorch_model.bin").write_bytes(pickle.dumps(Payload(canary)))
    refused(folder, "pytorch_model.bin is a pickle, which can run code and is never opened")
    assert not canary.exists()


def test_a_decoy_beside_the_encoders_pickle_does_not_get_it_opened(tiny: Tiny, canary: Path) -> None:
    for name in ("plain", "st"):
        folder = shutil.copytree(tiny("bert"), name) if name == "plain" else st_folder(tiny("bert"), Path(name))
        Path(folder, "model.safetensors").rename(Path(folder, "decoy.safetensors"))
        Path(folder, "pytorch_model.bin").write_bytes(pickle.dumps(Payload(canary)))
        refused(folder, "holds pytorch_model.bin but no model.safetensors; pickles can run code and are never opened")
    assert not canary.exists()


@pytest.mark.parametrize(
    "shard", ["pytorch_model.bin", "../elsewhere.safetensors", "/elsewhere.safetensors", "no.safetensors"]
)
def test_shards_are_safetensors_beside_their_index(tiny: Tiny, canary: Path, shard: str) -> None:
    folder = Path(shutil.copytree(tiny("bert"), "sharded"))
    names = tensors.stored(folder / "model.safetensors")
    (folder / "model.safetensors").rename("elsewhere.safetensors")
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps(Payload(canary)))
    index = {"metadata": {"total_size": 1}, "weight_map": dict.fromkeys(names, shard)}
    write(folder / "model.safetensors.index.json", index)
    (folder / "decoy.safetensors").write_bytes(Path("elsewhere.safetensors").read_bytes())
    refused(folder, "model.safetensors.index.json names ", "--pooler", "mean")
    assert not canary.exists()


@pytest.mark.parametrize("weight_map", [{}, [], None])
def test_an_index_that_lists_no_shard_is_named(tiny: Tiny, weight_map: object) -> None:
    folder = Path(shutil.copytree(tiny("bert"), "sharded"))
    (folder / "model.safetensors").unlink()
    write(folder / "model.safetensors.index.json", {"weight_map": weight_map})
    refused(folder, "model.safetensors.index.json lists no weight file", "--pooler", "mean")


def test_shards_are_read(tiny: Tiny) -> None:
    folder = Path(shutil.copytree(tiny("bert"), "sharded"))
    whole = find(str(folder), EncoderOptions(pooler="mean")).open()(["a man"])
    names = tensors.stored(folder / "model.safetensors")
    (folder / "model.safetensors").rename(folder / "model-00001-of-00001.safetensors")
    weight_map = dict.fromkeys(names, "model-00001-of-00001.safetensors")
    write(folder / "model.safetensors.index.json", {"metadata": {"total_size": 1}, "weight_map": weight_map})
    np.testing.assert_array_equal(find(str(folder), EncoderOptions(pooler="mean")).open()(["a man"]), whole)


@pytest.mark.parametrize(
    ("file", "values", "message"),
    [
        ("config.json", {"auto_map": {"AutoModel": "custom.Custom"}}, "auto_map refers to custom code"),
        ("tokenizer_config.json", {"auto_map": {"AutoTokenizer": ["custom.Custom", None]}}, "refers to custom code"),
        ("config.json", {"transformers_weights": "other.safetensors"}, "transformers_weights is not supported"),
        ("config.json", {"quantization_config": {"quant_method": "awq"}}, "quantization_config is not supported"),
        ("config.json", {"attn_implementation": "someone/kernel"}, "names a downloadable kernel"),
        (
            "config.json",
            {"sub_config": [{"_attn_implementation": {"": "someone/kernel"}}]},
            "names a downloadable kernel",
        ),
        ("adapter_config.json", {"base_model_name_or_path": "someone/else"}, "weights of another model are needed"),
    ],
)
def test_a_configuration_that_leads_elsewhere_is_refused(
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
        {"chunk_size_feed_forward": 3}, {"chunk_size_feed_forward": 10**6}, {"chunk_size_feed_forward": None},
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
    refused(folder, "has 1 layers, its weights have 2", "--pooler", "mean")


def test_an_encoder_that_was_shortened_on_purpose_is_read(tiny: Tiny) -> None:
    """As the guide says it is done."""
    from transformers import AutoModel

    AutoModel.from_pretrained(tiny("bert"), num_hidden_layers=1).save_pretrained("short")
    for file in tiny("bert").glob("*token*"):
        shutil.copy(file, "short")
    assert find("short", EncoderOptions(pooler="mean")).open()(["a man"]).shape == (1, 16)


def test_layers_that_would_not_be_used_are_named_in_a_model_of_the_library_too(tiny: Tiny) -> None:
    pytest.importorskip("sentence_transformers")
    folder = st_folder(tiny("bert"), Path("model"))
    change(folder / "config.json", num_hidden_layers=1)
    refused(folder, "has 1 layers, its weights have 2")


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


@pytest.mark.parametrize("file", ["modules.json", "1_Pooling/config.json", "sentence_bert_config.json",
                                  "config_sentence_transformers.json"])  # fmt: skip
@pytest.mark.parametrize(
    "content", [b"[" * 100_000 + b"]" * 100_000, b"", b"null", b"[3]", b'{"prompts": 3}', b'["\\ud800"]', b"[{}]"]
)
def test_small_files_of_modules_that_cannot_be_are_one_line(tiny: Tiny, file: str, content: bytes) -> None:
    folder = st_folder(tiny("bert"), Path("st"))
    (folder / file).write_bytes(content)
    if (file, content) == ("1_Pooling/config.json", b'{"prompts": 3}'):
        pytest.skip("what a module of the library's own makes of a key it does not know is up to it")
    refused(folder, "")


@pytest.mark.parametrize("file", ["config.json", "tokenizer.json", "README.md", "model.safetensors", "vocab.txt",
                                  "modules.json", "1_Pooling/config.json", "chat_template.jinja"])  # fmt: skip
@pytest.mark.parametrize("kind", ["FIFO", "device"])
def test_what_is_no_file_is_not_waited_for(tiny: Tiny, file: str, kind: str) -> None:
    folder = st_folder(tiny("bert"), Path("st"))
    (folder / file).unlink(missing_ok=True)
    if kind == "FIFO":
        os.mkfifo(folder / file)
    else:
        (folder / file).symlink_to("/dev/zero")
    refused(folder, "")


def edited(header: Callable[[dict[str, Any]], object]) -> Callable[[bytes], bytes]:
    def change_header(content: bytes) -> bytes:
        length = int.from_bytes(content[:8], "little")
        made = json.dumps(header(json.loads(content[8 : 8 + length]))).encode()
        return len(made).to_bytes(8, "little") + made + content[8 + length :]

    return change_header


def lie(field: str, value: object) -> Callable[[dict[str, Any]], object]:
    def change_one(header: dict[str, Any]) -> object:
        name = next(name for name in header if name != "__metadata__")
        return {**header, name: {**header[name], field: value}}

    return change_one


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"", lambda content: content[:7], lambda content: content[:-4], lambda content: content + b"\0",
        lambda content: b"\xff" * 8 + content[8:], lambda content: (2**24).to_bytes(8, "little") + b"[" * 2**24,
        lambda content: (200_000).to_bytes(8, "little") + b"[" * 100_000 + b"]" * 100_000,
        edited(lambda header: []), edited(lie("shape", [10**9, 10**9])), edited(lie("shape", [-1])),
        edited(lie("dtype", "F128")), edited(lie("data_offsets", [0, 2**62])), edited(lie("data_offsets", "all")),
        edited(lie("shape", None)), edited(lambda header: {}),
    ],
)  # fmt: skip
def test_weights_whose_header_lies_are_one_line(tiny: Tiny, damage: Callable[[bytes], bytes]) -> None:
    folder = Path(shutil.copytree(tiny("bert"), "encoder"))
    content = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(damage(content))
    refused(folder, "model.safetensors", "--pooler", "mean")


@pytest.mark.parametrize("number", ["nan", "inf", "-inf"])
def test_weights_that_are_not_finite_are_named_while_planning(tiny: Tiny, number: str) -> None:
    from safetensors.torch import load_file, save_file

    folder = Path(shutil.copytree(tiny("bert"), "encoder"))
    held = load_file(folder / "model.safetensors")
    name = sorted(held)[3]
    held[name].view(-1)[-1] = float(number)
    save_file(held, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(BadData, match=rf"{name} holds numbers that are not finite"):
        find(str(folder), EncoderOptions(pooler="mean"))
    not_planned(folder)


def test_weights_that_are_not_finite_are_named_in_a_model_of_the_library_too(tiny: Tiny) -> None:
    from safetensors.torch import load_file, save_file

    folder = st_folder(tiny("bert"), Path("st"))
    held = load_file(folder / "model.safetensors")
    name = next(iter(held))
    save_file({**held, name: held[name] * float("nan")}, folder / "model.safetensors", {"format": "pt"})
    refused(folder, f"{name} holds numbers that are not finite")


def test_finite_weights_of_every_kind_pass(tmp_path: Path) -> None:
    import torch
    from safetensors.torch import save_file

    kinds = (torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.bool, torch.uint8)
    for kind in kinds:
        most = torch.finfo(kind).max if kind.is_floating_point else 1
        save_file(
            {"a": torch.full((3, 2), most, dtype=kind), "b": torch.zeros(0, dtype=kind)}, tmp_path / "x.safetensors"
        )
        assert tensors.stored(tmp_path / "x.safetensors")["a"].shape == (3, 2)
        tensors.check_finite(tmp_path / "x.safetensors")
        if kind.is_floating_point:
            save_file({"a": torch.tensor([1.0, float("nan")], dtype=kind)}, tmp_path / f"{kind}.safetensors")
            with pytest.raises(BadData, match="not finite"):
                tensors.check_finite(tmp_path / f"{kind}.safetensors")


@pytest.mark.parametrize(
    "name", ["a" * 5000, "a/" * 3000, "st:" + "a" * 5000, "glove:" + "a" * 5000, "a" * 300 + ".vec"]
)
def test_a_name_that_is_too_long_is_one_line(name: str) -> None:
    refused(name, "")
