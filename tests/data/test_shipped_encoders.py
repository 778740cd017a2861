"""Encoders that come with cseb: by name, as they were shipped, and what is said where they are not."""

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModelForMaskedLM

from cseb.commands.describe import LISTINGS
from cseb.data import shipped
from cseb.data.shipped import ENCODERS, ShippedEncoder
from cseb.data.weights import find_encoder
from cseb.errors import BadData
from tests.command_line import call
from tests.conftest import SENTENCES
from tests.training.small_runs import encoder_in

Tiny = Callable[[str], Path]


@pytest.fixture
def replaced(tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in the place of cseb-tiny."""
    folder = tmp_path / "cseb-tiny"
    shutil.copytree(tiny("bert"), folder)
    sha256 = find_encoder(str(folder))[1]
    monkeypatch.setitem(ENCODERS, "cseb-tiny", ShippedEncoder(folder, "for tests", sha256))
    return folder


def test_those_in_the_package_are_what_was_shipped() -> None:
    assert set(ENCODERS) == {"cseb-tiny", "cseb-mini", "cseb-tiny-decoder"}
    for name, encoder in ENCODERS.items():
        assert find_encoder(name) == (encoder.folder, encoder.sha256)


def test_a_shipped_name_comes_before_a_folder_or_hub_name(replaced: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(replaced.parent)
    (replaced.parent / "cseb-mini").mkdir()
    assert find_encoder("cseb-tiny")[0] == replaced
    assert find_encoder("cseb-mini")[0] == shipped.ENCODERS["cseb-mini"].folder


def test_every_name_is_listed_and_offered_where_none_is_found() -> None:
    assert dict(LISTINGS["encoders"]()).items() >= {name: encoder.what for name, encoder in ENCODERS.items()}.items()
    names = "cseb-tiny, cseb-mini, cseb-tiny-decoder"
    with pytest.raises(BadData, match=f"no such folder; give one, or one of {names}, or a hub"):
        find_encoder("no where")


def test_a_misspelt_name_is_corrected_where_the_hub_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError("outgoing traffic has been disabled")

    monkeypatch.setattr("huggingface_hub.snapshot_download", refuse)
    with pytest.raises(BadData, match=r"traffic has been disabled.* did you mean cseb-tiny "):
        find_encoder("cseb-tinny")
    assert "did you mean cseb-tiny " in call("run", "--encoder", "cseb-tinny", "--dry-run").stderr


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (shutil.rmtree, "should come with cseb, and .* is not there; install cseb again"),
        (lambda folder: (folder / "model.safetensors").unlink(), "has no model.safetensors"),
        (lambda folder: (folder / "config.json").unlink(), "has no config.json"),
        (
            lambda folder: (folder / "model.safetensors").write_bytes((folder / "model.safetensors").read_bytes()[:-8]),
            "is not what comes with this version of cseb; install cseb again, or copy the folder",
        ),
        (lambda folder: (folder / "tokenizer.json").write_text("{}"), "is not what comes with this version"),
    ],
)
def test_a_damaged_or_lost_one_is_one_line(replaced: Path, damage: Callable[[Path], object], message: str) -> None:
    damage(replaced)
    with pytest.raises(BadData, match=rf"encoder 'cseb-tiny'.*{message}"):
        find_encoder("cseb-tiny")


def test_weights_in_half_precision_are_computed_with_in_32_bits(tiny: Tiny, tmp_path: Path) -> None:
    """The same vectors, bit for bit, as from a file that holds the rounded weights in 32 bits."""
    results = []
    for name, kind in (("half", torch.float16), ("rounded", torch.float32), ("whole", torch.float32)):
        folder = tmp_path / name
        shutil.copytree(tiny("bert"), folder)
        model = AutoModelForMaskedLM.from_pretrained(tiny("bert"))
        (model if name == "whole" else model.half()).to(kind).save_pretrained(folder)
        encoder = encoder_in(folder)
        assert {each.dtype for each in encoder.parameters()} == {torch.float32}
        results.append(encoder.embed(SENTENCES))
    half, rounded, whole = results
    assert half.dtype == np.float32
    assert np.array_equal(half, rounded)
    assert not np.array_equal(half, whole)
    assert np.abs(half - whole).max() < 0.01
