"""Folders of sentence-transformers: no module, activation or tokenizer of a stranger's is imported.

These tests hold with any version of the library: up to 5 it imports what a folder names.
"""

import json
import shutil
from pathlib import Path

import pytest

from cseb.embedders import find, modules
from cseb.embedders.interface import EncoderOptions
from cseb.errors import BadData
from tests.conftest import SENTENCES
from tests.embedders.folders import CODE, OLD, Tiny, change, refused, st_folder, with_dense, write


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
        assert [module.kind for module in modules.check(folder)] == ["Transformer", "Pooling", "Dense"]


@pytest.mark.parametrize(
    "kind",
    ["custom.Custom", "sentence_transformers_custom.Custom", "sentence_transformers.SentenceTransformer",
     "sentence_transformers.models.custom.Custom", "sentence_transformers.models.Dense\n", "os.system", "Custom", "",
     f"{OLD}Router", f"{OLD}WordEmbeddings"],
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


@pytest.mark.parametrize(
    "named", ["custom.Custom", "torch.nn.modules.custom.Custom", "torch.hub.load", "os.abort", "torch.nn.Parameter", 3]
)
def test_no_activation_is_imported(tiny: Tiny, canary: Path, named: object) -> None:
    pytest.importorskip("sentence_transformers")
    Path("custom.py").write_text(CODE.format(canary=str(canary)))
    refused(with_dense(tiny("bert"), Path("st"), activation_function=named), "is not one of torch.nn's")
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
    for name in modules.SETTINGS[:2]:
        write(folder / name, setting)
        refused(folder, message)
        (folder / name).unlink()


@pytest.mark.parametrize("path", ["../outside", "/outside", "2_Dense/../../outside", "a" * 300, "nul\0l", 3, None])
def test_a_module_lies_in_the_folder(tiny: Tiny, path: object) -> None:
    folder = with_dense(tiny("bert"), Path("st"))
    shutil.move(folder / "2_Dense", "outside")
    listed = json.loads((folder / "modules.json").read_text())
    write(folder / "modules.json", [*listed[:2], {**listed[2], "path": path}])
    refused(folder, "a" * 50 if path == "a" * 300 else "outside the folder")


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
    refused(folder, "do not encode token ids with a mask")


def test_layers_that_would_not_be_used_are_named_in_a_model_of_the_library_too(tiny: Tiny) -> None:
    pytest.importorskip("sentence_transformers")
    folder = st_folder(tiny("bert"), Path("model"))
    change(folder / "config.json", num_hidden_layers=1)
    refused(folder, "does not use 16 weights (bert.encoder.layer.1.")
