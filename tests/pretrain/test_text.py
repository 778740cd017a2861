"""Tests of the text that models are pre-trained on: its sentences, duplicates and genres."""

import hashlib
from pathlib import Path

import numpy as np
import pytest

from benchmarks.pretrain.sources import BadText, read_documents, sentences_of
from benchmarks.pretrain.text import drawn_fractions, load, prepare, vocabulary_hash

LINE = "Every line of this file has more words than a line that may be repeated, number {}."


def write(folder: Path, **files: tuple[str, list[str]]) -> Path:
    """Write files with their genre, and return the path of their list."""
    listed = []
    for name, (genre, lines) in files.items():
        content = "".join(f"{line}\n" for line in lines).encode()
        (folder / f"{name}.txt").write_bytes(content)
        facts = f"text: running, used: true, genre: {genre}, sha256: {hashlib.sha256(content).hexdigest()}"
        listed.append(f"{name}: {{{facts}}}\n")
    (folder / "list.yaml").write_text("".join(listed))
    return folder / "list.yaml"


@pytest.mark.parametrize(
    ("paragraph", "sentences"),
    [
        ("He paused. He turned.", ["He paused.", "He turned."]),
        ('"Go!" she cried. "Why?" He left.', ['"Go!" she cried.', '"Why?"', "He left."]),
        (
            "Mr. Blood met J. A. Cuddon, i.e. Him. Then 3.5 of No. 7 fell.",
            ["Mr. Blood met J. A. Cuddon, i.e. Him.", "Then 3.5 of No. 7 fell."],
        ),
        ("no end", ["no end"]),
    ],
)
def test_paragraphs_are_cut_into_sentences(paragraph: str, sentences: list[str]) -> None:
    assert sentences_of(paragraph) == sentences


def test_long_lines_that_occur_again_in_any_file_are_dropped(tmp_path: Path) -> None:
    first = [LINE.format(1), "Thank you.", LINE.format(2)]
    second = [LINE.format(1).upper(), "Thank you.", LINE.format(3)]
    listed = write(tmp_path, one=("a", first), two=("b", second))
    documents = list(read_documents(tmp_path, listed))
    assert [document.sentences for document in documents] == [first, second[1:]]


def test_a_large_genre_is_drawn_less_and_a_small_one_more_often(tmp_path: Path) -> None:
    fractions = drawn_fractions({"large": 10_000, "small": 100})
    assert fractions == pytest.approx({"large": 10**2.8 / (10**2.8 + 10**1.4), "small": 10**1.4 / (10**2.8 + 10**1.4)})
    listed = write(
        tmp_path,
        one=("large", [LINE.format(number) for number in range(64 * 60)]),
        two=("small", [LINE.format(10_000 + number) for number in range(64 * 3)]),
    )
    prepare(tmp_path, tmp_path / "text", 200, listed)
    _, text, _, facts = load(tmp_path / "text")
    tokens = np.diff(text.sentences[text.documents]) * text.weights
    large = tokens[: np.argmax(text.weights)].sum() / tokens.sum()
    assert large == pytest.approx(facts["genres"]["large"], abs=0.01)
    assert facts["genres"]["large"] < 60 / 63


def test_a_vocabulary_can_be_given(tmp_path: Path) -> None:
    listed = write(tmp_path, one=("a", [LINE.format(number) for number in range(64 * 51)]))
    prepare(tmp_path, tmp_path / "text", 120, listed)
    tokenizer, *_ = load(tmp_path / "text")
    prepare(tmp_path, tmp_path / "again", 90, listed, vocabulary=tmp_path / "text" / "tokenizer")
    again, *_, facts = load(tmp_path / "again")
    assert facts["made_of"]["vocabulary"] == vocabulary_hash(again) == vocabulary_hash(tokenizer)


def test_missing_or_changed_text_is_refused(tmp_path: Path) -> None:
    listed = write(tmp_path, one=("a", ["a line"]))
    (tmp_path / "one.txt").write_text("another line")
    with pytest.raises(BadText, match=r"one\.txt has sha256 .* Is it another version"):
        list(read_documents(tmp_path, listed))
    (tmp_path / "one.txt").unlink()
    with pytest.raises(BadText, match=r"has no one\.txt, one\.txt\.gz or one\.txt\.xz"):
        list(read_documents(tmp_path, listed))
    with pytest.raises(BadText, match="has no prepared text"):
        load(tmp_path / "text")
    listed = write(tmp_path, one=("a", ["a line"]))
    with pytest.raises(BadText, match="has no held out documents"):
        prepare(tmp_path, tmp_path / "text", 90, listed)
