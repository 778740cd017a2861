"""Texts of tasks that training sentences contain: the same, or nearly so."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass

from cseb.progress import counted, tell
from cseb.words import folded_words

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
    """How many of a task's distinct `texts` are training sentences: `exact`, and `near` among the others."""

    task: str
    texts: int
    exact: int
    near: int
    examples: tuple[Example, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class TaskTexts:
    """Texts of tasks, indexed once to be compared with any number of training sentences.

    Two texts are the same if they have the same letters, digits and marks in the same order, as `folded_words` has
    them: without case, punctuation and forms of Unicode. They are near-duplicates if their sets of words have a Jaccard
    similarity of at least `near`. Every pair is found: sets as similar as that share one of their few rarest words, so
    only texts with such a word in common are compared.
    Source: Chaudhuri et al. 2006 (prefix filter).
    """

    near: float  # the similarity
    tasks: Mapping[str, frozenset[int]]  # name to numbers of its texts
    texts: Sequence[str]  # as the task has them
    by_letters: Mapping[str, int]  # letters and digits of a text to its number
    ranks: Mapping[str, int]  # number of each word, rising with the number of texts that have it
    sets: Sequence[tuple[int, ...]]  # ranks of the words of each text, rising
    by_word: Mapping[int, Sequence[int]]  # rank of a rare word to the numbers of texts that have it

    @classmethod
    def of(cls, tasks: Mapping[str, Iterable[str]], near: float = NEAR) -> TaskTexts:
        """Index the texts of tasks by name; those without a letter or digit are left out. near: in (0, 1]."""
        first: dict[str, str] = {}  # letters to the first text that has them
        letters: dict[str, str] = {}  # the same text in several tasks, or often in one, is split once
        split: list[frozenset[str]] = []
        members: dict[str, set[str]] = {}
        for name, texts in counted(tasks.items(), "reading the texts of tasks", len(tasks)):
            members[name] = set(texts := list(texts))
            for text in texts:
                if text not in letters:
                    parts = folded_words(text)
                    letters[text] = "".join(parts)
                    if parts and first.setdefault(letters[text], text) is text:
                        split.append(frozenset(parts))
        by_letters = {key: number for number, key in enumerate(first)}
        counts = Counter(word for parts in split for word in parts)
        ranks = {word: rank for rank, word in enumerate(sorted(counts, key=lambda word: (counts[word], word)))}
        sets = [tuple(sorted(ranks[word] for word in parts)) for parts in split]
        by_word: dict[int, list[int]] = {}
        for number, ranked in enumerate(sets):
            for word in ranked[: _prefix(len(ranked), near)]:
                by_word.setdefault(word, []).append(number)
        numbers = {
            name: frozenset(by_letters[letters[text]] for text in texts if letters[text])
            for name, texts in members.items()
        }
        return cls(near, numbers, list(first.values()), by_letters, ranks, sets, by_word)

    def overlap(self, sentences: Iterable[str], examples: int = 0) -> list[Overlap]:
        """Count for each task its texts among these sentences, with up to so many examples.

        Of a sentence that is several texts joined by TABs, each counts.
        """
        total = len(sentences) if isinstance(sentences, Sized) else 0
        exact: dict[int, str] = {}
        near: dict[int, str] = {}
        for line in counted(sentences, "comparing with the texts of tasks", total):
            for sentence in line.split("\t"):
                parts = folded_words(sentence)
                if (number := self.by_letters.get("".join(parts))) is not None:
                    exact.setdefault(number, sentence)
                near |= {number: sentence for number in self._similar(frozenset(parts)) if number not in near}
        tell("")
        return [self._counted(name, numbers, exact, near, examples) for name, numbers in self.tasks.items()]

    def _similar(self, parts: frozenset[str]) -> Iterator[int]:
        """Yield the numbers of texts with nearly these words, perhaps repeatedly."""
        ranks = {self.ranks[word] for word in parts if word in self.ranks}
        unknown = len(parts) - len(ranks)  # words that no text has are the rarest
        least, most = self.near * len(parts) - ROUNDING, len(parts) / self.near + ROUNDING
        for word in sorted(ranks)[: max(0, _prefix(len(parts), self.near) - unknown)]:
            for number in self.by_word.get(word, ()):
                other = self.sets[number]
                if least <= len(other) <= most:
                    shared = len(ranks.intersection(other))
                    if shared >= self.near * (len(parts) + len(other) - shared) - ROUNDING:
                        yield number

    def _counted(
        self, name: str, numbers: frozenset[int], exact: Mapping[int, str], near: Mapping[int, str], examples: int
    ) -> Overlap:
        same, similar = sorted(numbers & exact.keys()), sorted((numbers & near.keys()) - exact.keys())
        shown = [Example(self.texts[number], exact[number], True) for number in same]
        shown += [Example(self.texts[number], near[number], False) for number in similar]
        return Overlap(name, len(numbers), len(same), len(similar), tuple(shown[:examples]))


def _prefix(count: int, near: float) -> int:
    """Return how many of a set's words, the rarest first, must include one of any set as similar as `near`."""
    return count - math.ceil(near * count - ROUNDING) + 1
