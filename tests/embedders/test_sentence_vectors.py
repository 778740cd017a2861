"""Files of sentences with their vectors: what is read, and what is refused."""

from pathlib import Path

import numpy as np
import pytest

from cseb import embedders
from cseb.embedders.interface import EncoderOptions
from cseb.errors import BadData

SENTENCES = ["a dog", "a cat", "a dog", "a bird"]
VECTORS = np.arange(12, dtype=np.float64).reshape(4, 3)


def saved(tmp_path: Path, **arrays: object) -> str:
    np.savez(tmp_path / "mine.npz", **{"sentences": SENTENCES, "vectors": VECTORS, **arrays})
    return str(tmp_path / "mine.npz")


def test_sentences_get_the_vectors_of_their_first_row(tmp_path: Path) -> None:
    result = embedders.find(saved(tmp_path), EncoderOptions())
    vectors = result.open()(["a bird", "a dog"])
    assert vectors.tolist() == [[9, 10, 11], [0, 1, 2]]
    assert vectors.dtype == np.float32
    other = embedders.find(saved(tmp_path, vectors=VECTORS + 1), EncoderOptions())
    assert other.source.sha256 != result.source.sha256


def test_white_space_inside_a_sentence_does_not_count_unless_it_is_there_as_asked_for(tmp_path: Path) -> None:
    path = saved(tmp_path, sentences=["a  dog", "a\tcat", "a dog", "a  bird"])
    vectors = embedders.find(path, EncoderOptions()).open()(["a cat", "a dog", "a  dog", "a bird"])
    assert vectors[:, 0].tolist() == [3, 6, 0, 9]


def test_a_sentence_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadData, match="lacks vectors of 1 of 2 sentences, such as 'a fish'"):
        embedders.find(saved(tmp_path), EncoderOptions()).open()(["a dog", "a fish"])


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"sentences": [1, 2, 3, 4]}, "sentences are int64, not strings"),
        ({"vectors": VECTORS[:2]}, r"shape \(2, 3\) for 4 sentences"),
        ({"vectors": np.where(VECTORS > 10, np.nan, VECTORS)}, "not finite"),
        ({"vectors": VECTORS.astype(object)}, "cannot be read"),
    ],
)
def test_other_arrays_are_refused(tmp_path: Path, arrays: dict[str, object], message: str) -> None:
    with pytest.raises(BadData, match=message):
        embedders.find(saved(tmp_path, **arrays), EncoderOptions())


def test_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "bad.npz"
    path.write_bytes(b"PK nothing")
    with pytest.raises(BadData, match="cannot be read"):
        embedders.find(str(path), EncoderOptions())
    np.savez(path, vectors=VECTORS)
    with pytest.raises(BadData, match="lack the array"):
        embedders.find(str(path), EncoderOptions())
