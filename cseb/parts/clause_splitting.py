"""Clauses of a sentence, and CompCSE's (anchor, left, right) triples of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

from cseb.data.bounded import read_lines
from cseb.errors import BadData, BadSpec

Triple = tuple[Sequence[str], Sequence[str], Sequence[str]]

SHORTEST = 2  # words of a clause
# Words that open a clause in English: conjunctions, relative pronouns, and the commonest subordinators.
OPENERS = frozenset(
    {
        "and", "but", "or", "nor", "so", "yet", "because", "since", "although", "though", "while", "whereas",
        "unless", "until", "when", "where", "whenever", "wherever", "which", "who", "whose", "whom", "that",
        "if", "as", "after", "before", "once", "than",
    }
)  # fmt: skip


def clauses(sentence: str) -> list[str]:
    """Split a sentence into clauses by rule: after , ; : and dashes, and before a word that opens a clause.

    A cut that would leave fewer than two words on either side is not made. Joined by blanks, the clauses are the words
    of the sentence again.
    """
    words = sentence.split()
    parts: list[list[str]] = [[]]
    for place, word in enumerate(words):
        behind = place > 0 and (words[place - 1][-1] in ",;:" or words[place - 1] in ("-", "--", "–", "—"))
        opens = word.lower().strip("\"'(") in OPENERS
        if (behind or opens) and len(parts[-1]) >= SHORTEST and len(words) - place >= SHORTEST:
            parts.append([])
        parts[-1].append(word)
    return [" ".join(clause) for clause in parts if clause]


def adjacent(units: Sequence[str]) -> list[Triple]:
    """Return disjoint pairs: (e1 e2, e1, e2), (e3 e4, e3, e4), ... Source: Chanchani & Huang 2023, table 2."""
    return [_pair(units, at) for at in range(0, len(units) - 1, 2)]


def overlapping(units: Sequence[str]) -> list[Triple]:
    """Return all neighbouring pairs: (e1 e2, e1, e2), (e2 e3, e2, e3), ... Source: Chanchani & Huang 2023, table 2."""
    return [_pair(units, at) for at in range(len(units) - 1)]


def subsuming(units: Sequence[str]) -> list[Triple]:
    """Return every run of two units or more, with its halves, recursively. Source: Chanchani & Huang 2023, table 2."""
    if len(units) < 2:
        return []
    left, right = units[: len(units) // 2], units[len(units) // 2 :]
    return [(units, left, right), *subsuming(left), *subsuming(right)]


Strategy = Literal["none", "adjacent", "overlapping", "subsuming"]
STRATEGIES: dict[Strategy, Callable[[Sequence[str]], list[Triple]]] = {
    "none": lambda units: [],
    "adjacent": adjacent,
    "overlapping": overlapping,
    "subsuming": subsuming,
}


def _pair(units: Sequence[str], at: int) -> Triple:
    return units[at : at + 2], units[at : at + 1], units[at + 1 : at + 2]


def read_units(file: str) -> dict[str, list[str]]:
    """Read discourse units by sentence, from UTF-8 lines "sentence TAB unit TAB unit ...". Raises: BadSpec, BadData."""
    if not isinstance(file, str) or not file:
        raise BadSpec('unit_halves: file is missing; write unit_halves(file="units.tsv"), lines sentence TAB unit ...')
    try:
        lines = read_lines(Path(file))
    except BadData as error:
        raise BadData(f"unit_halves: {error}") from None
    units_by_sentence = {}
    for number, line in enumerate(lines, 1):
        sentence, *units = (column.strip() for column in line.rstrip("\r").split("\t"))
        if line.strip() and not (units and all(units)):
            raise BadData(f"unit_halves: {file} line {number} holds no units, or an empty one; write sentence TAB unit")
        units_by_sentence[sentence] = units
    return units_by_sentence
