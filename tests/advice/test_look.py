"""What is seen of a corpus before anything trains on it."""

from pathlib import Path

import pytest
from transformers import AutoTokenizer

from cseb.advice.look import folded, look
from cseb.data.corpus import pack
from cseb.errors import BadData
from tests.conftest import OBJECTS, SENTENCES, save_tokenizer

DISTINCT = [f"{sentence} and {other}" for sentence in SENTENCES for other in OBJECTS]


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> object:
    folder = tmp_path_factory.mktemp("tokenizer")
    save_tokenizer(folder)
    return AutoTokenizer.from_pretrained(folder)


def test_repeats_are_left_out_whatever_their_capitals_and_marks(tokenizer: object) -> None:
    repeated = [*DISTINCT, DISTINCT[3].upper() + "!", f" {DISTINCT[4]}", ""]
    found = look(pack("my", repeated), tokenizer, 32, "tiny")
    assert found.distinct == tuple(range(len(DISTINCT)))
    assert (found.sentences, found.blank) == (len(DISTINCT) + 2, 1)
    assert "2 repeats left out" in found.lines()[0]


def test_lengths_and_what_is_cut(tokenizer: object) -> None:
    long = [f"{sentence} {'a ' * 40}" for sentence in DISTINCT[:32]]
    found = look(pack("my", [*DISTINCT[32:], *long]), tokenizer, 32, "tiny")
    assert found.too_long == pytest.approx(32 / len(DISTINCT))
    assert found.words[2] == max(len(folded(one).split()) for one in long)


@pytest.mark.parametrize("count", [1, 20, 99])
def test_too_few_sentences_are_refused(tokenizer: object, count: int) -> None:
    with pytest.raises(BadData, match=f"{count} of them distinct; a recommendation takes 100"):
        look(pack("my", [*DISTINCT[:count], *DISTINCT[:1] * 200]), tokenizer, 32, "tiny")


@pytest.mark.parametrize(
    "line", ["мужчина ест пиццу в парке номер {}", "zzkvyx qwrtpl vbnmkj xcvbgt {}", "男人在公园吃披萨{}"]
)
def test_another_language_is_refused(tokenizer: object, line: str) -> None:
    with pytest.raises(BadData, match="not in a language of encoder 'tiny'"):
        look(pack("my", [line.format("x" * n) for n in range(200)]), tokenizer, 32, "tiny")


def test_words_of_the_language_are_known(tokenizer: object) -> None:
    assert look(pack("my", [w.replace("and", "in") for w in DISTINCT]), tokenizer, 32, "tiny").spelt < 0.25


def test_a_tokenizer_reads_files_of_the_same_name(tmp_path: Path) -> None:
    assert folded("  A  man -- is Eating!") == "a man is eating"
    assert folded("...") == "..."
