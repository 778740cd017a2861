"""Infer from a task file's columns which kind of task it is, and which column has which role."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from typing import TypeVar

from cseb.data.corpus import listed
from cseb.data.readers import HEADED, ending
from cseb.data.tables import Table, number
from cseb.errors import BadData, shortened

# Names of the column of each role, in any case; where a file has several, the first of these counts.
NAMES: Mapping[str, tuple[str, ...]] = {
    "first": ("sentence1", "sentence_1", "sentence_a", "text1", "left", "question1"),
    "second": ("sentence2", "sentence_2", "sentence_b", "text2", "right", "question2"),
    "score": ("score", "gold", "similarity", "rating", "relatedness", "relatedness_score"),
    "sentence": ("sentence", "text"),
    "label": ("label", "class", "category", "topic", "intent"),
    "query": ("query", "question"),
    "document": ("document", "answer", "candidate", "passage"),
    "relevance": ("relevance", "relevant"),
    "yes or no": ("is_duplicate", "label", "labels", "duplicate", "is_paraphrase", "paraphrase"),
    "anchor": ("anchor", "sent0"),
    "positive": ("positive", "pos", "sent1"),
    "negative": ("negative", "neg", "hard_neg"),
}
LABEL = 1000  # characters
T = TypeVar("T")
PAIRS = ("first", "second", "score")
# The roles of each kind. Those of GUESSED are recognised by their columns, the others have to be named.
FORMS: Mapping[str, tuple[str, ...]] = {
    "pairs": PAIRS,
    "classification": ("sentence", "label"),
    "retrieval": ("query", "document"),
    "reranking": ("query", "document", "relevance"),
    "pair-classification": ("first", "second", "yes or no"),
    "triplets": ("anchor", "positive", "negative"),
    "clustering": ("sentence", "label"),
    **dict.fromkeys(("alignment", "uniformity", "anisotropy", "effective-rank"), PAIRS),
}
GUESSED = ("pairs", "classification", "retrieval", "reranking", "pair-classification", "triplets")
YES_NO = {
    **dict.fromkeys(("1", "1.0", "1,0", "yes", "y", "true", "ja", "wahr"), 1),  # a German Excel writes WAHR
    **dict.fromkeys(("0", "0.0", "0,0", "no", "n", "false", "nein", "falsch"), 0),
}


@dataclass(frozen=True, slots=True, eq=False)
class Sheet:
    """A table, its kind of task and the column of each role.

    guessed: whether the kind was inferred from the columns. by_order: whether columns of unknown names were used in
    their order.
    """

    table: Table
    kind: str
    parts: Mapping[str, str]
    guessed: bool
    by_order: bool = False

    def __post_init__(self) -> None:
        for column in self.parts.values():
            if (count := self.table.columns.count(column)) > 1:
                raise BadData(f"{self.table.path} has {count} columns {column!r}; rename one")

    def text(self, part: str) -> list[str]:
        """Return the sentences of a column, with single spaces for white space. Raises: BadData."""
        return self._parsed(
            part, lambda cell: " ".join(cell.split()) or None if isinstance(cell, str) else None, "text"
        )

    def names(self, part: str) -> list[str]:
        """Return the labels of a column; numbers are labels, too. Raises: BadData."""
        return self._parsed(part, _label, f"a label of 1 to {LABEL} characters")

    def numbers(self, part: str) -> list[float]:
        """Return the numbers of a column, all with decimal points or all with decimal commas. Raises: BadData."""
        values = self._parsed(part, number, "a number of at most a million")
        signs = {char for cell in self.table.column(self.parts[part]) if isinstance(cell, str) for char in cell}
        if {",", "."} <= signs:
            raise BadData(f"{self.table.path}: column {self.parts[part]!r} has decimal commas and points; use one")
        return values

    def classes(self, part: str) -> list[int]:
        """Return the cells of a column of yes and no as 1 and 0. Raises: BadData."""
        needed = "yes/no, true/false or 1/0 (for graded pairs write FILE:pairs)"
        return self._parsed(part, lambda cell: YES_NO.get(str(cell).strip().lower()), needed)

    def _parsed(self, part: str, parse: Callable[[object], T | None], needed: str) -> list[T]:
        """Return the parsed cells of a column. Raises: BadData with the line of a cell that cannot be parsed."""
        values = []
        for line, cell in zip(self.table.lines, self.table.column(self.parts[part]), strict=True):
            if (value := parse(cell)) is None:
                content = "nothing" if cell is None or cell == "" else shortened(cell)
                column = f"{self.table.path}, line {line}: column {self.parts[part]!r}"
                raise BadData(f"{column} holds {content}; {needed} is needed")
            values.append(value)
        return values


def _label(cell: object) -> str | None:
    if isinstance(cell, float) and isnan(cell):
        return None
    label = str(cell).strip() if isinstance(cell, str | int | float) else ""
    return label if 1 <= len(label) <= LABEL else None


def sheet(table: Table, kind: str = "") -> Sheet:
    """Return the table with its kind, inferred from the columns unless given, and the column of each role.

    A .csv or .tsv file of three columns with a number in the third one of the first row has no header and is pairs, or
    pair-classification if that is given and the third one is yes or no. For a given kind, columns of other names are
    used in their order if their number is right. Raises: BadData.
    """
    if ending(table.path) in HEADED and len(table.columns) == 3 and _is_value(table.columns[2], kind or "pairs"):
        table = table.headless()
        parts = dict(zip(FORMS[kind or "pairs"], table.columns, strict=True))
        return Sheet(table, kind or "pairs", parts, not kind)
    columns, has = _parts(table.columns), f"{table.path} has the columns {listed(table.columns)}"
    if kind:
        wanted = FORMS[kind]
        if kind == "retrieval" and "relevance" in columns:
            wanted = FORMS["reranking"]
        by_order = not set(wanted) <= set(columns) and len(table.columns) == len(wanted)
        if by_order:
            columns = dict(zip(wanted, table.columns, strict=True))
        if set(wanted) <= set(columns):
            return Sheet(table, kind, {part: columns[part] for part in wanted}, guessed=False, by_order=by_order)
        raise BadData(f"{has}; {kind} needs {_spelt(wanted)}")
    fitting = [name for name in GUESSED if set(FORMS[name]) <= set(columns)]
    if "pairs" in fitting and "pair-classification" in fitting:
        fitting.remove("pair-classification")  # a score says more than a class
    fitting = [name for name in fitting if not any(set(FORMS[name]) < set(FORMS[other]) for other in fitting)]
    if len(fitting) == 1:
        return Sheet(table, fitting[0], {part: columns[part] for part in FORMS[fitting[0]]}, guessed=True)
    several = f" which could be {' or '.join(fitting)}" if fitting else " which match no kind of task"
    allowed = "; ".join(f"{name}: {_spelt(FORMS[name])}" for name in GUESSED)
    raise BadData(f"{has},{several}; choose one with {table.path}:KIND, or rename the columns: {allowed}")


def _is_value(cell: str, kind: str) -> bool:
    """Return whether a cell is no name of a column but a score, or a class of pair-classification."""
    if kind == "pair-classification":
        return cell.strip().lower() in YES_NO
    return FORMS[kind] == PAIRS and number(cell) is not None


def _parts(columns: Sequence[str]) -> dict[str, str]:
    """Return the column of each role that the table has."""
    by_name = {name.strip().lower().replace(" ", "_").replace("-", "_"): name for name in reversed(columns)}
    # of several names the last one counts, which is the first in NAMES
    return {part: by_name[name] for part, names in NAMES.items() for name in reversed(names) if name in by_name}


def _spelt(parts: Sequence[str]) -> str:
    return " + ".join("/".join(NAMES[part][:2]) for part in parts)
