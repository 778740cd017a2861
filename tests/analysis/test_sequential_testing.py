"""Interim analyses: each number of seeds counts once, and what cannot be kept is said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cseb.analysis.sequential_testing import interim_analysis
from cseb.analysis.study import Study, gather
from cseb.records.bookkeeping import LOOKS
from tests.factory import record


def study(seeds: int, encoder: str = "tiny") -> Study:
    return gather([record(seed=seed, encoder=encoder) for seed in range(seeds)])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "plan-microworld.tsv").touch()
    return tmp_path


def test_the_second_number_of_seeds_is_said_and_the_same_one_is_not(folder: Path) -> None:
    assert interim_analysis(folder, study(3)) == interim_analysis(folder, study(3)) == ""
    assert interim_analysis(folder, study(5)).startswith("Sequential testing: 2 analyses, with 3, 5 seeds")
    assert "2 analyses" in interim_analysis(folder, study(3))


def test_another_encoder_is_another_study(folder: Path) -> None:
    interim_analysis(folder, study(3))
    assert interim_analysis(folder, study(5, encoder="other")) == ""
    assert len(json.loads((folder / LOOKS).read_text())) == 2


def test_a_folder_of_somebody_else_is_left_as_it_is(tmp_path: Path) -> None:
    assert interim_analysis(tmp_path, study(3)) == ""
    assert not list(tmp_path.iterdir())


def test_a_damaged_file_is_begun_anew(folder: Path) -> None:
    (folder / LOOKS).write_text("[")
    assert interim_analysis(folder, study(3)) == ""
    assert list(json.loads((folder / LOOKS).read_text()).values()) == [[3]]


def test_what_is_no_file_is_said(folder: Path) -> None:
    (folder / LOOKS).mkdir()
    assert "not recorded" in interim_analysis(folder, study(3))
