"""Which library computes linear layers: asked for, or timed once and remembered."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from cseb.encoder import linear
from cseb.encoder.linear import available, resolved, taken
from cseb.errors import BadSpec


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of answers, in a cache folder of its own."""
    monkeypatch.setattr(linear, "user_cache_path", lambda name: tmp_path / name)
    return tmp_path / "cseb" / "linear.json"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What timing would find, and how often it was asked."""
    told: dict[str, Any] = {"blas": 2.0, "onednn": 1.0, "asked": 0}

    def timed() -> dict[str, float]:
        told["asked"] += 1
        return {"blas": told["blas"], "onednn": told["onednn"]}

    monkeypatch.setattr(linear, "timed", timed)
    return told


needs = pytest.mark.skipif(not available(), reason="this PyTorch cannot take oneDNN")


@needs
@pytest.mark.parametrize(("onednn", "library"), [(1.0, "onednn"), (1.95, "blas"), (3.0, "blas")])
def test_the_clearly_faster_one_is_taken(place: Path, clock: dict[str, Any], onednn: float, library: str) -> None:
    clock["onednn"] = onednn
    assert resolved("auto", 1) == library


@needs
def test_the_answer_is_kept_for_each_number_of_threads(place: Path, clock: dict[str, Any]) -> None:
    assert resolved("auto", 1) == "onednn"
    clock["onednn"] = 3.0
    assert resolved("auto", 1) == "onednn"
    assert resolved("auto", 2) == "blas"
    assert clock["asked"] == 2
    assert sorted(json.loads(place.read_text()).values()) == ["blas", "onednn"]


@needs
@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff", b'{"x": {"y": 1}}', b"x" * (2 << 20)])
def test_a_damaged_file_is_measured_again(place: Path, clock: dict[str, Any], content: bytes) -> None:
    place.parent.mkdir(parents=True)
    place.write_bytes(content)
    assert resolved("auto", 1) == "onednn"
    assert list(json.loads(place.read_text()).values()) == ["onednn"]


def test_a_cache_that_cannot_be_written_costs_time_alone(place: Path, clock: dict[str, Any]) -> None:
    place.parent.parent.joinpath("cseb").write_text("a file where a folder should be")
    assert resolved("auto", 1) in linear.LIBRARIES


def test_without_the_operator_everything_runs(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.ops, "mkldnn", SimpleNamespace(), raising=False)
    assert resolved("auto", 1) == "blas"
    with pytest.raises(BadSpec, match="`linear` onednn: this PyTorch has no oneDNN operator"):
        resolved("onednn", 1)


def test_what_is_asked_for_is_not_timed(place: Path, clock: dict[str, Any]) -> None:
    assert resolved("blas", 1) == "blas"
    assert resolved("auto", 1, "cuda") == "blas"
    assert clock["asked"] == 0
    with pytest.raises(BadSpec, match="`linear` is 'mkl'; allowed: 'auto', 'blas', 'onednn'"):
        resolved("mkl", 1)


@needs
def test_both_libraries_are_timed_and_nothing_stays_changed() -> None:
    before, state, threads = taken(), torch.get_rng_state(), torch.get_num_threads()
    seconds = linear.timed()
    assert set(seconds) == {"blas", "onednn"}
    assert all(0 < time < 60 for time in seconds.values())
    assert taken() == before
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.get_num_threads() == threads
