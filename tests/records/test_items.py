"""Scores per item: what a file may hold, and how each damage is named."""

from pathlib import Path

import numpy as np
import pytest

from cseb.errors import BadResults
from cseb.records.items import read_items


def saved(folder: Path, **arrays: np.ndarray) -> Path:
    path = folder / "items.npz"
    np.savez_compressed(path, **arrays)
    return path


def test_items_come_back_in_single_precision(tmp_path: Path) -> None:
    result = read_items(saved(tmp_path, a=np.array([0.5, np.nan]), b=np.array([[1, 2], [3, 4]])))
    assert [(name, values.dtype, values.shape) for name, values in result.items()] == [
        *(("a", np.float32, (2,)), ("b", np.float32, (2, 2)))
    ]
    assert result["a"][0] == 0.5
    assert np.isnan(result["a"][1])


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (np.array(["text"]), "numbers are needed"),
        (np.zeros(0), "an array of shape"),
        (np.zeros((2, 2, 2)), "an array of shape"),
        (np.array([1.0, np.inf]), "inf cannot be the score"),
        (np.array([1.0, -np.inf]), "-inf cannot be the score"),
        (np.array([1e10]), "1e\\+10 cannot be the score"),
        (np.array([1e308]), "1e\\+308 cannot be the score"),
        (np.array([1j]), "numbers are needed, not complex128"),
        (np.array(0.5), "an array of shape"),
    ],
)
def test_what_cannot_be_scores_is_refused(tmp_path: Path, values: np.ndarray, said: str) -> None:
    with pytest.raises(BadResults, match=said):
        read_items(saved(tmp_path, a=values))


def test_a_cut_or_missing_file_is_named(tmp_path: Path) -> None:
    path = saved(tmp_path, a=np.ones(1000))
    path.write_bytes(path.read_bytes()[:100])
    for file in (path, tmp_path / "none.npz"):
        with pytest.raises(BadResults, match=f"{file.name} cannot be read"):
            read_items(file)
