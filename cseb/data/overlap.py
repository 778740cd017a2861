"""Which texts of tasks also stand in training sentences: word for word, or nearly so."""

from __future__ import annotations

import math
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass

from cseb.errors import BadBenchmark
from cseb.progress import counted, tell
from cseb.words import split_words

NEAR = 0.8  # Jaccard similarity of two sets of words from which we call texts near-duplicates; our choice
ROUNDING = 1e-9  # 0.7 * 10 is a little more than 7


@dataclass(frozen=True, slots=True)
class Example:
    """A text of a task and a training sentence that is the same, or nearly so."""

    text: str
    sentence: str
    exact: bool


@dataclass(frozen=True, slots=True)
class Overlap:
    """How many of a task's distinct `texts` stand in the training sentences: `exact`, and `near` among the others."""

    task: str
    texts: int
    exact: int
    near: int
    examples: tuple[Example, ...] = ()


def words(text: str) -> list[str]:
    """Return the words of a text in order, without case, punctuation and compatibility forms of Unicode (NFKC)."""
    return split_words(unicodedata.normalize("NFKC", text).casefold())


@dataclass(frozen=True, slots=True, eq=False)
class TaskTexts:
    """Texts of tasks, prepared once to be looked for among any number of training sentences.

    Two texts are the same if they have the same letters, digits and combining marks in the same order. They are
    near-duplicates if their sets of words have a Jaccard similarity of at least `near`. Every pair is found: sets as
    similar as that share one of their few rarest words, so only texts with such a word in common are compared.
    Source: Chaudhuri et al. 2006 (prefix filter).

    tasks: name to places of its texts. texts: as the task has them. same: letters and digits to place. numbers: of
    words, rising with the number of texts that have them. sets: numbers of the words of each text, rising. by_word:
    rare word to the places of texts that have it.
    """

    near: float
    tasks: Mapping[str, frozenset[int]]
    texts: Sequence[str]
    same: Mapping[str, int]
    numbers: Mapping[str, int]
    sets: Sequence[tuple[int, ...]]
    by_word: Mapping[int, Sequence[int]]

    @classmethod
    def of(cls, tasks: Mapping[str, Iterable[str]], near: float = NEAR) -> TaskTexts:
        """These tasks by name, each with its texts; texts without a letter or digit are left out.

        Raises: BadBenchmark for a `near` that is not in (0, 1].
        """
        if not 0 < near <= 1:
            raise BadBenchmark(
                f"`near` is {near:g}; a similarity above 0 and at most 1 is needed, such as {NEAR}, 1 for equal words"
            )
        texts: list[str] = []
        split: list[frozenset[str]] = []
        same: dict[str, int] = {}
        places: dict[str, frozenset[int]] = {}
        known: dict[str, int] = {}  # the same text in several tasks, or often in one, is split once
        for name, held in counted(tasks.items(), "reading the texts of tasks", len(tasks)):
            found = set()
            for text in held:
                if text not in known:
                    parts = words(text)
                    known[text] = same.setdefault("".join(parts), len(texts)) if parts else -1
                    if known[text] == len(texts):
                        texts.append(text)
                        split.append(frozenset(parts))
                found.add(known[text])
            places[name] = frozenset(found - {-1})
        counts = Counter(word for one in split for word in one)
        numbers = {word: number for number, word in enumerate(sorted(counts, key=lambda word: (counts[word], word)))}
        sets = [tuple(sorted(numbers[word] for word in one)) for one in split]
        by_word: dict[int, list[int]] = {}
        for place, one in enumerate(sets):
            for word in one[: _needed(len(one), near)]:
                by_word.setdefault(word, []).append(place)
        return cls(near, places, texts, same, numbers, sets, by_word)

    def overlap(self, sentences: Iterable[str], examples: int = 0) -> list[Overlap]:
        """For each task, how many of its texts stand in these sentences. examples: how many to show of each task.

        Of a sentence that is several texts joined by TABs, each counts.
        """
        total = len(sentences) if isinstance(sentences, Sized) else 0
        exact: dict[int, str] = {}
        near: dict[int, str] = {}
        for line in counted(sentences, "comparing with the texts of tasks", total):
            for sentence in line.split("\t"):
                split = words(sentence)
                if (place := self.same.get("".join(split))) is not None:
                    exact.setdefault(place, sentence)
                for other in self._alike(frozenset(split), near):
                    near[other] = sentence
        tell("")
        return [self._counted(name, places, exact, near, examples) for name, places in self.tasks.items()]

    def _alike(self, held: frozenset[str], known: Mapping[int, str]) -> Iterator[int]:
        """Places of texts with nearly these words, but for those that are known already."""
        own = {self.numbers[word] for word in held if word in self.numbers}
        strangers = len(held) - len(own)  # words that no text has are the rarest
        least, most = self.near * len(held) - ROUNDING, len(held) / self.near + ROUNDING
        for word in sorted(own)[: max(0, _needed(len(held), self.near) - strangers)]:
            for place in self.by_word.get(word, ()):
                other = self.sets[place]
                if least <= len(other) <= most and place not in known:
                    shared = len(own.intersection(other))
                    if shared >= self.near * (len(held) + len(other) - shared) - ROUNDING:
                        yield place

    def _counted(
        self, name: str, places: frozenset[int], exact: Mapping[int, str], near: Mapping[int, str], examples: int
    ) -> Overlap:
        same, alike = sorted(places & exact.keys()), sorted((places & near.keys()) - exact.keys())
        shown = [(place, found[place], found is exact) for found, at in ((exact, same), (near, alike)) for place in at]
        return Overlap(
            name,
            len(places),
            len(same),
            len(alike),
            tuple(Example(self.texts[place], sentence, equal) for place, sentence, equal in shown[:examples]),
        )


def _needed(count: int, near: float) -> int:
    """How many of a set's words, the rarest first, a set that is as similar as `near` must share one of."""
    return count - math.ceil(near * count - ROUNDING) + 1
