"""Triples of the microworld: what labelled text is, whatever the count and the seed."""

from itertools import islice

from cseb.microworld import triples
from cseb.microworld.writer import RESERVED, fits, share_of

HELD = list(triples(300))


def words(text: str) -> set[str]:
    return set(text.lower().strip(".").split())


def test_the_first_do_not_depend_on_the_count_and_seeds_differ() -> None:
    assert list(triples(20)) == HELD[:20] == list(islice(triples(10_000), 20))
    assert not {*triples(20, seed=1)} & {*HELD}


def test_no_sentence_comes_first_twice_and_three_texts_differ() -> None:
    assert len(HELD) == len({anchor for anchor, _, _ in HELD}) == 300
    assert all(len({*texts}) == 3 for texts in HELD)


def test_none_is_of_the_sentences_that_tasks_keep_for_themselves() -> None:
    texts = [text for texts in HELD for text in texts]
    assert all(fits(text) for text in texts)
    assert not {share_of(text) for text in texts} & {*RESERVED.values()}


def test_the_contradiction_keeps_the_words_and_the_paraphrase_avoids_them() -> None:
    """By overlap of words alone the wrong one would be chosen: what a model has to learn is not that."""

    def overlap(one: str, other: str) -> float:
        return len(words(one) & words(other)) / len(words(one) | words(other))

    nearer = [overlap(anchor, negative) > overlap(anchor, positive) for anchor, positive, negative in HELD]
    assert sum(nearer) / len(nearer) > 0.8
