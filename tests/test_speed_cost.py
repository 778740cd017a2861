"""What is kept of the cost of methods: one row for each, to the SimCSE of its own run."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from benchmarks.speed import cost


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The kept rows of a machine on which a job takes as many seconds as its method's name has letters."""
    file = tmp_path / "cost.csv"
    file.write_text(
        "setting,method,cpu_seconds,to_simcse,peak_mb\nembedded,simcse,5.0,1.00,9\nembedded,sif,1.0,0.20,9\n"
    )
    monkeypatch.setattr(cost, "KEPT", file)

    def job(method: str, *_: object) -> SimpleNamespace:
        return SimpleNamespace(cost=SimpleNamespace(cpu_seconds=float(len(method)), peak_rss_mb=7.4))

    monkeypatch.setattr(cost, "measured", job)
    return file


def measure(monkeypatch: pytest.MonkeyPatch, *words: str) -> None:
    monkeypatch.setattr(sys, "argv", ["cost", *words])
    cost.main()


def test_a_named_method_is_added_and_leaves_the_other_ratios_their_simcse(
    kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measure(monkeypatch, "embedded", "crops", "sif")
    assert kept.read_text().splitlines()[1:] == [
        "embedded,simcse,5.0,1.00,9", "embedded,sif,3.0,0.50,7", "embedded,crops,5.0,0.83,7"
    ]  # fmt: skip


def test_without_names_every_row_of_the_setting_is_measured_again(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    measure(monkeypatch, "embedded")
    assert kept.read_text().splitlines()[1:] == ["embedded,simcse,6.0,1.00,7", "embedded,sif,3.0,0.50,7"]


def test_the_first_method_of_a_setting_brings_its_form_of_simcse(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    measure(monkeypatch, "rated-pairs", "cosent", "--data-dir", "data")
    assert kept.read_text().splitlines()[3:] == [
        "rated-pairs,simcse+mean,11.0,1.00,7",
        "rated-pairs,cosent,6.0,0.55,7",
    ]
