"""Remarks on a corpus before training: blank and repeated lines, markup, and lines that are far too long."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice

from cseb.text import quantity, shortened
from cseb.words import folded_words

MARKUP = re.compile(r"&(?:[A-Za-z]{2,8}|#[0-9]{1,7}|#x[0-9A-Fa-f]{1,6});|</?[A-Za-z][A-Za-z0-9]*(?:\s[^<>]*)?/?>")
LONG = 500  # words of a line that is no sentence
EXAMINED = 200_000  # sentences that are examined; more take too long before every run
CURE = "remove duplicates or add +recipe(batch=no_duplicates), since a contrastive loss takes copies for negatives"


def repeats(sentences: Iterable[str]) -> int:
    """Return how many sentences are copies of an earlier one."""
    count, distinct = 0, set()
    for sentence in sentences:
        count += 1
        distinct.add(hash(sentence))  # 64 bits take a fifth of the memory of the text
    return count - len(distinct)


def remarks(name: str, sentences: Iterable[str], count: int, blank: int) -> Iterator[str]:
    """Yield one line for each kind of fault in a corpus, with its number of sentences and the cure.

    Args:
        name: The name of the corpus.
        sentences: Its sentences, which are read twice.
        count: Their number.
        blank: The number of blank lines, which are left out.
    """
    if blank:
        yield f"{name}: {quantity(blank, 'blank line')} left out"
    total = f"{name}: {{:,}} of {quantity(count, 'sentence')}"
    if copies := repeats(sentences):
        yield f"{total.format(copies)} repeat an earlier one; {CURE}"
    distinct = list(dict.fromkeys(islice(sentences, EXAMINED)))
    folded = [hash(letters) for sentence in distinct if (letters := "".join(folded_words(sentence)))]
    if similar := len(folded) - len(set(folded)):
        yield f"{total.format(similar)} differ from an earlier one only in case, punctuation or spelling; {CURE}"
    if marked := [match[0] for sentence in distinct if (match := MARKUP.search(sentence))]:
        yield (
            f"{total.format(len(marked))} contain HTML, such as {shortened(marked[0], 40)!r}; replace entities with "
            "Python's html.unescape and remove tags"
        )
    lengths = [len(sentence.split()) for sentence in distinct if len(sentence) > LONG]
    if long := [length for length in lengths if length > LONG]:
        yield (
            f"{total.format(len(long))} have more than {LONG} words, up to {max(long):,}; put one sentence on each "
            "line, since the rest of a line beyond the encoder's maximum length is cut off"
        )
