"""Texts of tasks among training sentences: every pair that a comparison of all with all finds, and no other."""

from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from cseb.data.overlap import TaskTexts
from cseb.words import folded_words

TEXTS = st.lists(st.lists(st.sampled_from("abcdefg"), min_size=1, max_size=12).map(" ".join), max_size=20)


def slowly(texts: Iterable[str], sentences: Iterable[str], near: tuple[int, int]) -> tuple[int, int]:
    """How many distinct texts are among the sentences, the same and nearly; near: a ratio of whole numbers."""
    by_letters = {"".join(folded_words(text)): set(folded_words(text)) for text in reversed(list(texts))}
    values = [("".join(folded_words(sentence)), set(folded_words(sentence))) for sentence in sentences]
    same = {letters for letters in by_letters if letters in {other for other, _ in values}}
    alike = {
        letters
        for letters, own in by_letters.items()
        if any(near[1] * len(own & other) >= near[0] * len(own | other) for _, other in values)
    }
    return len(same), len(alike - same)


@given(TEXTS, TEXTS, st.sampled_from([(8, 10), (7, 10), (1, 3), (1, 1)]))
def test_all_pairs_are_found_and_no_other(texts: list[str], sentences: list[str], near: tuple[int, int]) -> None:
    (result,) = TaskTexts.of({"task": texts}, near[0] / near[1]).overlap(sentences)
    assert result.texts == len({text.replace(" ", "") for text in texts})
    assert (result.exact, result.near) == slowly(texts, sentences, near)


def test_a_letter_without_spaces_is_a_word() -> None:
    (result,) = TaskTexts.of({"task": ["我喜欢吃新鲜苹果"]}).overlap(["我喜欢吃新鲜的苹果"])
    assert (result.exact, result.near) == (0, 1)


def test_one_word_in_ten_makes_a_near_duplicate_and_one_in_five_another_text() -> None:
    ten, five = "one two three four five six seven eight nine ten", "a man plays the guitar"
    index = TaskTexts.of({"long": [ten], "short": [five]})
    long, short = index.overlap([ten.replace("ten", "eleven"), five.replace("man", "woman")])
    assert (long.near, short.near) == (1, 0)


def test_each_text_counts_once_in_each_task_that_has_it() -> None:
    result = TaskTexts.of({"a": ["Snow.", "snow", "?!", "rain"], "b": ["SNOW"]}).overlap(["snow", "snow!"])
    assert [(each.texts, each.exact) for each in result] == [(2, 1), (1, 1)]


def test_each_text_of_a_line_of_several_counts() -> None:
    (result,) = TaskTexts.of({"task": ["rain", "snow"]}).overlap(["a premise\train\tsnow"])
    assert result.exact == 2


def test_examples_show_the_text_and_the_sentence_the_same_ones_first() -> None:
    index = TaskTexts.of({"task": ["five words in all here", "Snow."]})
    (result,) = index.overlap(["all five words in here now", "SNOW"], examples=2)
    assert [(example.text, example.sentence, example.exact) for example in result.examples] == [
        ("Snow.", "SNOW", True),
        ("five words in all here", "all five words in here now", False),
    ]
    assert index.overlap(["SNOW"])[0].examples == ()
