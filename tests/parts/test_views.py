"""View makers: aligned texts, and files that lack what is needed."""

from pathlib import Path

import pytest

from cseb.encoder.interface import Shape
from cseb.errors import BadData
from cseb.parts.views import Dropout, Paraphrase

SHAPE = Shape(width=8, layers=2, heads=2, mask_token=True, pooled=False, dropout=0.1)


def test_dropout_gives_the_very_list_twice() -> None:
    sentences = ["a", "b"]
    first, second = Dropout(shape=SHAPE)(sentences)
    assert first is sentences
    assert second is sentences


def test_paraphrases_are_aligned_by_sentence(tmp_path: Path) -> None:
    file = tmp_path / "pairs.tsv"
    file.write_text("b\tB\r\n\na\tA\n", encoding="utf-8")
    assert Paraphrase(file=str(file))(["a", "b", "a"]) == (["a", "b", "a"], ["A", "B", "A"])


def test_a_sentence_without_paraphrase_is_named(tmp_path: Path) -> None:
    file = tmp_path / "pairs.tsv"
    file.write_text("a\tA\n", encoding="utf-8")
    with pytest.raises(BadData, match="lacks a paraphrase of 1 of 2 sentences: 'b'"):
        Paraphrase(file=str(file))(["a", "b"])


@pytest.mark.parametrize(
    ("content", "message"), [(b"a\tA\nb\n", "line 2 needs 2 columns, has 1"), (b"\xff\tA", "cannot be read")]
)
def test_a_bad_file_is_answered_when_the_part_is_built(tmp_path: Path, content: bytes, message: str) -> None:
    file = tmp_path / "pairs.tsv"
    file.write_bytes(content)
    with pytest.raises(BadData, match=message):
        Paraphrase(file=str(file))
