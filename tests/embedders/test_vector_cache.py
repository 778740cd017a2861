"""Vectors on disk: encoded once, never read when damaged, written by several processes at once."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cseb.embedders import find
from cseb.embedders.interface import Embedder, EncoderOptions
from cseb.embedders.vector_cache import Cache
from cseb.errors import BadData
from cseb.experiment.evaluate import evaluate
from cseb.records.store import Store
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
    assert first.encoded == 3
    second = Cache(tmp_path / "c", KEY, lengths)
    assert second(["ccc", "bb"]).tolist() == [[3, 0, 1], [2, 0, 1]]
    assert second.encoded == 1
    assert Cache(tmp_path / "c", KEY, never)(["ccc", "a", "bb"]).tolist() == [[3, 0, 1], [1, 1, 1], [2, 0, 1]]
    assert Cache(tmp_path / "c", KEY, lengths)([]).shape == (0, 3)
    other = Cache(tmp_path / "c", "f" * 16, lengths)
    other(["a"])
    assert other.encoded == 1
    assert str(second).startswith("1 sentence encoded, 0.0 MB of vectors in ")


@pytest.mark.parametrize("damage", [lambda b: b[:-7], lambda b: b"", lambda b: b[:200] + b"\xff" + b[201:]])
def test_a_damaged_block_is_noticed_and_encoded_again(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    Cache(tmp_path, KEY, lengths)(["a", "bb"])
    (block,) = folder_of(tmp_path).iterdir()
    whole = block.read_bytes()
    block.write_bytes(damage(whole))
    cache = Cache(tmp_path, KEY, lengths)
    assert cache(["a", "bb"]).tolist() == [[1, 1, 1], [2, 0, 1]]
    assert (cache.encoded, cache.damaged) == (2, 1)
    assert "1 damaged block removed" in str(cache)
    assert block.read_bytes() == whole


def test_a_block_of_another_version_or_encoder_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = Cache(tmp_path, KEY, lengths)
    first(["a"])
    assert Cache(tmp_path, KEY + "0", lengths).folder != first.folder
    monkeypatch.setattr("cseb.embedders.vector_cache.__version__", "0.0.0")
    cache = Cache(tmp_path, KEY, lengths)
    assert (cache(["a"]).tolist(), cache.encoded, cache.damaged) == ([[1, 1, 1]], 1, 0)


def test_vectors_that_are_not_finite_are_not_stored(tmp_path: Path) -> None:
    Cache(tmp_path, KEY, lambda sentences: lengths(sentences) * np.float32("nan"))(["a"])
    assert list(folder_of(tmp_path).iterdir()) == []


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BadData, match=r"`cache` .* cannot be used: "):
        Cache(tmp_path / "file", KEY, lengths)


def test_a_second_set_of_tasks_does_not_encode_again(tmp_path: Path) -> None:
    store, how = Store(tmp_path / "results"), EncoderOptions()
    store.prepare()
    asked: list[str] = []

    def counted(embedder: Embedder) -> Embedder:
        inner = embedder.open()

        def embed(sentences: Sequence[str]) -> Vectors:
            asked.extend(sentences)
            return inner(sentences)

        return replace(embedder, open=lambda: embed)

    embedder = counted(find("words:random", how))
    evaluate(embedder, how, "toy-captions", "", store, cache=tmp_path / "c")
    once = set(asked)
    assert len(once) == len(asked) > 100
    both = evaluate(embedder, how, "toy-captions,toy-mixed", "", store, cache=tmp_path / "c")
    assert len(asked) == len(set(asked)) > len(once)
    del asked[:]
    again = evaluate(embedder, how, "toy-mixed", "", store, cache=tmp_path / "c")
    assert asked == []
    assert again.record.scores[0] == both.record.scores[1]
    other = EncoderOptions(dtype="bf16")
    evaluate(embedder, other, "toy-mixed", "", store, cache=tmp_path / "c")
    assert asked  # another way of encoding


def test_vectors_that_depend_on_other_sentences_are_not_stored(tmp_path: Path) -> None:
    store, how = Store(tmp_path / "results"), EncoderOptions()
    store.prepare()
    result = evaluate(find("words:tf-idf", how), how, "toy-captions", "", store, cache=tmp_path / "c")
    assert result.cache == ""
    assert not (tmp_path / "c").exists()
