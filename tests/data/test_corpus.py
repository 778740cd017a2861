"""A corpus: what is kept, what it is called, and where its sentences lie."""

import hashlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cseb.data.corpus import pack, read_corpus
from cseb.errors import BadData, UnknownName
from cseb.experiment.corpus_checks import remarks

WIKI = Path(__file__).parents[2].parent / "shared" / "data" / "wiki" / "wiki1m_head.txt"


def test_the_hash_is_that_of_the_stripped_sentences_with_line_feeds() -> None:
    corpus = pack("here", [" One.\r\n", "", "\t", "Zwei ä. "])
    assert list(corpus) == ["One.", "Zwei ä."]
    assert corpus.blank == 2
    assert corpus.sha256 == hashlib.sha256("One.\nZwei ä.\n".encode()).hexdigest()


def test_indices_count_from_both_ends_and_stop_there() -> None:
    corpus = pack("here", ["a", "b", "c"])
    assert (corpus[0], corpus[-1], len(corpus)) == ("a", "c", 3)
    assert corpus.take(np.array([2, 0, 2])) == ["c", "a", "c"]
    for beyond in (3, -4):
        with pytest.raises(IndexError):
            corpus[beyond]


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]))))
def test_every_text_comes_back_as_stripped(texts: list[str]) -> None:
    kept = [text for text in (" ".join(text.split("\n")).strip() for text in texts) if text]
    if not kept:
        with pytest.raises(BadData, match="holds no sentence"):
            pack("here", texts)
    else:
        corpus = pack("here", texts)
        assert [each.split() for each in corpus] == [each.split() for each in kept]
        assert len(corpus) + corpus.blank == len(texts)


def test_a_byte_that_is_not_utf_8_is_answered_with_its_row() -> None:
    with pytest.raises(BadData, match=r"row 2 is not UTF-8 \(byte 0xdf\)"):
        pack("standard input", ["one", b"gro\xdf".decode(errors="surrogateescape")])


def test_half_a_surrogate_pair_is_answered_with_its_row() -> None:
    with pytest.raises(BadData, match="row 3 holds an unpaired surrogate"):
        pack("here", ["fine", "", "\ud800"])


def test_only_a_line_feed_ends_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes("\ufeffone\u2028still one\x0bstill\r\n\r\ntwo\x85two".encode())
    corpus = read_corpus(str(path))
    assert list(corpus) == ["one\u2028still one\x0bstill", "two\x85two"]
    assert (corpus.blank, corpus.name) == (1, str(path))


@pytest.mark.skipif(not WIKI.exists(), reason="needs the Wikipedia sample beside the repository")
def test_wikipedia_lines_survive_unchanged() -> None:
    raw = WIKI.read_bytes()
    corpus = read_corpus(str(WIKI))
    lines = [line.strip() for line in raw.decode().split("\n")]
    assert list(corpus) == [line for line in lines if line]
    assert corpus.blank == len(lines[:-1]) - len(corpus)


def test_a_file_of_the_manifest_that_is_not_here_says_how_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(BadData, match=f"wiki1m_head.txt is not below {tmp_path}; make it: head -n 11913"):
        read_corpus("data:wiki1m_head.txt", "", str(tmp_path))
    with pytest.raises(BadData, match="not in the caches, and no data folder is given"):
        read_corpus("data:wiki1m_head.txt")
    with pytest.raises(UnknownName, match="did you mean wiki1m"):
        read_corpus("data:wiki1m_haed.txt", "", str(tmp_path))


@pytest.mark.parametrize(
    ("rows", "remark"),
    [
        (["a", "", "b"], "1 blank line left out"),
        (["a", " a ", "b", "a"], "2 of 4 sentences repeat an earlier one; remove duplicates or add +recipe(batch=no"),
        (["Tea?", "b", "tea"], "1 of 3 sentences differ from an earlier one only in case, punctuation or spelling;"),
        (["R&amp;D", "a &lt; b", "5 < 6 & 7 > 2", "AT&T"], "2 of 4 sentences contain HTML, such as '&amp;'; replace"),
        (["<b>bold</b>", "line<br/>", '<a href="x">y</a>', "a <3 b"], "3 of 4 sentences contain HTML, such as '<b>'"),
        (["word " * 5000, "x"], "1 of 2 sentences have more than 500 words, up to 5,000; put one sentence on each"),
    ],
)
def test_each_kind_of_fault_is_counted_with_its_cure(rows: list[str], remark: str) -> None:
    (line,) = remarks(pack("mine.txt", rows))
    assert line.startswith(f"mine.txt: {remark}")


def test_a_corpus_without_faults_has_no_remark() -> None:
    assert not list(remarks(pack("mine.txt", ["a", "b", "Q&A; R&D", "x" * 10_000])))
