"""A folder of results like the demo's, with two steps of training in place of fifty."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import cseb

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def _demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("demo") / "results"
    cseb.run(
        "microworld",
        corpus="microworld:7000",
        fractions=[0.01, 0.02],
        seeds=2,
        steps=2,
        tasks="mw-captions",
        workers=1,
        device="cpu",
        results=made,
    )
    return made


@pytest.fixture
def folder(_demo: Path, tmp_path: Path) -> Path:
    """A copy of one's own: commands that read may note that they have looked."""
    shutil.copytree(_demo, tmp_path / "results")
    return tmp_path / "results"
