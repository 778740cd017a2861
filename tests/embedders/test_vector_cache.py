"""Vectors on disk: encoded once, never read when damaged."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from cseb.embedders import vector_cache
from cseb.embedders.vector_cache import stored
from cseb.errors import BadData
from cseb.progress import ENCODING, listening, tell
from cseb.tasks.task import Vectors

KEY = "0123456789abcdef"


def lengths(sentences: Sequence[str]) -> Vectors:
    return np.array([[len(text), text.count("a"), 1] for text in sentences], dtype=np.float32).reshape(-1, 3)


def never(sentences: Sequence[str]) -> Vectors:
    raise AssertionError(f"encoded again: {', '.join(sentences)}")


def test_stored_blocks_are_not_encoded_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_cache, "BLOCK", 2)
    texts = ["a", "bb", "a", ""]
    expected = [[1, 1, 1], [2, 0, 1], [1, 1, 1], [0, 0, 1]]
    assert stored(tmp_path, KEY, lengths)(texts).tolist() == expected
    assert stored(tmp_path, KEY, never)(texts).tolist() == expected
    assert stored(tmp_path, KEY, lengths)([]).shape == (0, 3)
    with pytest.raises(AssertionError, match=r"encoded again: ccc$"):
        stored(tmp_path, KEY, never)(["a", "bb", "ccc"])
    with pytest.raises(AssertionError, match="encoded again: a, bb"):
        stored(tmp_path, KEY + "0", never)(texts)


@pytest.mark.parametrize("damage", [lambda b: b[:-7], lambda b: b"", lambda b: b[:200] + b"\xff" + b[201:]])
def test_a_damaged_block_is_noticed_and_encoded_again(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    stored(tmp_path, KEY, lengths)(["a", "bb"])
    (block,) = tmp_path.rglob("*.npz")
    block.write_bytes(damage(block.read_bytes()))
    with pytest.raises(AssertionError, match="encoded again: a, bb"):
        stored(tmp_path, KEY, never)(["a", "bb"])
    assert stored(tmp_path, KEY, lengths)(["a", "bb"]).tolist() == [[1, 1, 1], [2, 0, 1]]
    assert stored(tmp_path, KEY, never)(["a", "bb"]).tolist() == [[1, 1, 1], [2, 0, 1]]


def test_a_block_of_another_version_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stored(tmp_path, KEY, lengths)(["a"])
    monkeypatch.setattr(vector_cache, "__version__", "0.0.0")
    with pytest.raises(AssertionError, match="encoded again: a"):
        stored(tmp_path, KEY, never)(["a"])


def test_vectors_that_are_not_finite_are_not_stored(tmp_path: Path) -> None:
    stored(tmp_path, KEY, lambda sentences: lengths(sentences) * np.float32("nan"))(["a"])
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BadData, match=r"the folder of vectors .* cannot be used: .*; free space, or name another"):
        stored(tmp_path / "file", KEY, lengths)(["a"])


def test_progress_counts_all_sentences_that_are_encoded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_cache, "BLOCK", 2)

    def reported(texts: list[str]) -> list[tuple[str, int, int]]:
        def embed(sentences: Sequence[str]) -> Vectors:
            tell("loading the encoder", 1, 3)
            for done in range(len(sentences) + 1):
                tell(ENCODING, done, len(sentences))
            return lengths(sentences)

        values: list[tuple[str, int, int]] = []
        with listening(lambda *each: values.append(each)):
            stored(tmp_path, KEY, embed)(texts)
        assert ("loading the encoder", 1, 3) in values or not values
        return [value for value in values if value[0] == ENCODING]

    assert reported(["c", "d"]) == [(ENCODING, 0, 2), (ENCODING, 1, 2), (ENCODING, 2, 2)]
    expected = [(ENCODING, done, 3) for done in (0, 1, 2, 2, 3)]
    assert reported(["a", "b", "c", "d", "e"]) == expected  # the second block is stored
    assert reported(["a", "b", "c", "d", "e"]) == []
