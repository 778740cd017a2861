"""Vectors on disk: encoded once, never read when damaged, written by several processes at once."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from cseb.embedders.vector_cache import Cache
from cseb.errors import BadData
from cseb.tasks.task import Vectors
from tests import world  # noqa: F401 (its tasks)

KEY = "0123456789abcdef"


def lengths(sentences: Sequence[str]) -> Vectors:
    return np.array([[len(text), text.count("a"), 1] for text in sentences], dtype=np.float32).reshape(-1, 3)


def folder_of(cache: Path) -> Path:
    return Cache(cache, KEY, lengths).folder


def never(sentences: Sequence[str]) -> Vectors:
    raise AssertionError(f"{len(sentences)} sentences were encoded again")


def test_stored_vectors_are_not_encoded_again(tmp_path: Path) -> None:
    first = Cache(tmp_path / "c", KEY, lengths)
    assert first(["a", "bb", "a", ""]).tolist() == [[1, 1, 1], [2, 0, 1], [1, 1, 1], [0, 0, 1]]
    second = Cache(tmp_path / "c", KEY, lengths)
    assert second(["ccc", "bb"]).tolist() == [[3, 0, 1], [2, 0, 1]]
    assert Cache(tmp_path / "c", KEY, never)(["ccc", "a", "bb"]).tolist() == [[3, 0, 1], [1, 1, 1], [2, 0, 1]]
    assert Cache(tmp_path / "c", KEY, lengths)([]).shape == (0, 3)
    with pytest.raises(AssertionError, match="1 sentences were encoded again"):
        Cache(tmp_path / "c", "f" * 16, never)(["a"])


@pytest.mark.parametrize("damage", [lambda b: b[:-7], lambda b: b"", lambda b: b[:200] + b"\xff" + b[201:]])
def test_a_damaged_block_is_noticed_and_encoded_again(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    Cache(tmp_path, KEY, lengths)(["a", "bb"])
    (block,) = folder_of(tmp_path).iterdir()
    whole = block.read_bytes()
    block.write_bytes(damage(whole))
    cache = Cache(tmp_path, KEY, lengths)
    assert list(folder_of(tmp_path).iterdir()) == []
    assert cache(["a", "bb"]).tolist() == [[1, 1, 1], [2, 0, 1]]
    assert block.read_bytes() == whole


def test_a_block_of_another_version_or_encoder_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = Cache(tmp_path, KEY, lengths)
    first(["a"])
    assert Cache(tmp_path, KEY + "0", lengths).folder != first.folder
    monkeypatch.setattr("cseb.embedders.vector_cache.__version__", "0.0.0")
    with pytest.raises(AssertionError, match="1 sentences were encoded again"):
        Cache(tmp_path, KEY, never)(["a"])


def test_vectors_that_are_not_finite_are_not_stored(tmp_path: Path) -> None:
    Cache(tmp_path, KEY, lambda sentences: lengths(sentences) * np.float32("nan"))(["a"])
    assert list(folder_of(tmp_path).iterdir()) == []


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BadData, match=r"the folder of vectors .* cannot be used: "):
        Cache(tmp_path / "file", KEY, lengths)
