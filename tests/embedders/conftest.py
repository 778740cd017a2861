"""A folder of the user's own, and whether code of a stranger has run."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))


@pytest.fixture
def canary(tmp_path: Path) -> Path:
    """A file that is there once code of the folder's has run."""
    return tmp_path / "canary"
