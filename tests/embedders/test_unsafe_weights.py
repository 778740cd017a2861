"""Weights of strangers: no pickle is opened, shards lie beside their index, and every number is finite."""

import json
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cseb.data import checkpoint
from cseb.embedders import find, modules
from cseb.embedders.interface import EncoderOptions
from cseb.errors import BadData
from tests.embedders.folders import OLD, Payload, Tiny, not_planned, refused, st_folder, with_dense, write


@pytest.mark.parametrize("kind", modules.WITH_WEIGHTS)
def test_a_decoy_beside_a_pickle_does_not_get_it_opened(tiny: Tiny, canary: Path, kind: str) -> None:
    pytest.importorskip("sentence_transformers")
    folder = with_dense(tiny("bert"), Path("st"))
    listed = json.loads((folder / "modules.json").read_text())
    write(folder / "modules.json", [*listed[:2], {**listed[2], "type": OLD + kind}])
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
    names = checkpoint.stored(folder / "model.safetensors")
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
    names = checkpoint.stored(folder / "model.safetensors")
    (folder / "model.safetensors").rename(folder / "model-00001-of-00001.safetensors")
    weight_map = dict.fromkeys(names, "model-00001-of-00001.safetensors")
    write(folder / "model.safetensors.index.json", {"metadata": {"total_size": 1}, "weight_map": weight_map})
    np.testing.assert_array_equal(find(str(folder), EncoderOptions(pooler="mean")).open()(["a man"]), whole)


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
    stored = load_file(folder / "model.safetensors")
    name = sorted(stored)[3]
    stored[name].view(-1)[-1] = float(number)
    save_file(stored, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(BadData, match=rf"{name} holds numbers that are not finite"):
        find(str(folder), EncoderOptions(pooler="mean"))
    not_planned(folder)


def test_weights_that_are_not_finite_are_named_in_a_model_of_the_library_too(tiny: Tiny) -> None:
    from safetensors.torch import load_file, save_file

    folder = st_folder(tiny("bert"), Path("st"))
    stored = load_file(folder / "model.safetensors")
    name = next(iter(stored))
    save_file({**stored, name: stored[name] * float("nan")}, folder / "model.safetensors", {"format": "pt"})
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
        assert checkpoint.stored(tmp_path / "x.safetensors")["a"].shape == (3, 2)
        checkpoint.check_finite(tmp_path / "x.safetensors")
        if kind.is_floating_point:
            save_file({"a": torch.tensor([1.0, float("nan")], dtype=kind)}, tmp_path / f"{kind}.safetensors")
            with pytest.raises(BadData, match="not finite"):
                checkpoint.check_finite(tmp_path / f"{kind}.safetensors")
