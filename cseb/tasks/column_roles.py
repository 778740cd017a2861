"""Infer from a task file's columns which kind of task it is, and which column has which role."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cseb.data.tables import Table
from cseb.errors import BadData

# What a column may be called, capitals apart; where several are there, the first of these names is taken.
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
LARGEST = 1e6  # of a rating or judgement; sums of squares of 1e308 are no numbers
DECIMAL_COMMA = re.compile(r"\s*[+-]?[0-9]+,[0-9]+\s*")
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
YES_NO = {"1": 1, "1.0": 1, "yes": 1, "y": 1, "true": 1, "0": 0, "0.0": 0, "no": 0, "n": 0, "false": 0}


@dataclass(frozen=True, slots=True, eq=False)
class Sheet:
    """A table, its kind of task and the column of each role; `guessed` if the user did not name the kind."""

    table: Table
    kind: str
    parts: Mapping[str, str]
    guessed: bool

    def text(self, part: str) -> list[str]:
        """The sentences of a column, white space made single blanks. Raises: BadData with the line of an empty one."""
        found = []
        for line, cell in zip(self.table.lines, self.table.column(self.parts[part]), strict=True):
            text = " ".join(cell.split()) if isinstance(cell, str) else ""
            if not text:
                what = "nothing" if cell is None or isinstance(cell, str) else f"a {type(cell).__name__}"
                raise self._bad(line, part, f"holds {what}; text is needed")
            found.append(text)
        return found

    def names(self, part: str) -> list[str]:
        """The labels of a column; numbers are names, too. Raises: BadData."""
        found = []
        for line, cell in zip(self.table.lines, self.table.column(self.parts[part]), strict=True):
            if not isinstance(cell, str | int | float) or not str(cell).strip() or len(str(cell)) > LABEL:
                raise self._bad(line, part, f"holds no label; one of 1 to {LABEL} characters is needed")
            found.append(str(cell).strip())
        return found

    def numbers(self, part: str) -> list[float]:
        """Return the finite numbers of a column, all with decimal points or all with decimal commas.

        Raises:
            BadData: with the line of a cell that is no number, or of another decimal sign.
        """
        values, sign = [], ""
        for line, cell in zip(self.table.lines, self.table.column(self.parts[part]), strict=True):
            if (value := number(cell)) is None:
                raise self._bad(line, part, f"holds {_cut(cell)}; a number is needed, of at most a million")
            used = "".join(char for char in ",." if isinstance(cell, str) and char in cell)
            if used and used != (sign := sign or used):
                raise self._bad(line, part, f"holds {_cut(cell)}; numbers before it have {sign!r} as decimal sign")
            values.append(value)
        return values

    def classes(self, part: str) -> list[int]:
        """Return the cells of a column of yes and no as 1 and 0.

        Raises:
            BadData: with the line of another value.
        """
        classes = []
        for line, cell in zip(self.table.lines, self.table.column(self.parts[part]), strict=True):
            if (value := YES_NO.get(str(cell).strip().lower())) is None:
                needed = "yes/no, true/false or 1/0 is needed; for graded pairs write FILE:pairs"
                raise self._bad(line, part, f"holds {_cut(cell)}; {needed}")
            classes.append(value)
        return classes

    def _bad(self, line: int, part: str, what: str) -> BadData:
        return BadData(f"{self.table.path}, line {line}: column {self.parts[part]!r} {what}")


def _cut(cell: object) -> str:
    """The beginning of a cell; an integer of thousands of digits cannot be shown."""
    try:
        return repr(str(cell)[:40])
    except ValueError:
        return "an infinite number"


def number(cell: object) -> float | None:
    """Return a number of at most a million, None for anything else; True is 1, False 0, and the text 3,5 is 3.5."""
    if isinstance(cell, str) and DECIMAL_COMMA.fullmatch(cell):
        cell = cell.replace(",", ".")
    try:
        value = float(cell) if isinstance(cell, str | int | float) else float("nan")
    except (ValueError, OverflowError):  # no number, or one of hundreds of digits
        return None
    return value if abs(value) <= LARGEST else None


def sheet(table: Table, kind: str = "") -> Sheet:
    """The kind inferred from the columns, or the requested one. Raises: BadData with what was found.

    A .csv or .tsv of three columns, the third of them a number already in the first row, has no header and is pairs.
    For a kind that is asked for, columns of other names are taken in their order if there are just enough of them.
    """
    if len(table.columns) == 3 and number(table.columns[2]) is not None and kind in ("", *_of(PAIRS)):
        table = table.headless()
        return Sheet(table, kind or "pairs", dict(zip(PAIRS, table.columns, strict=True)), not kind)
    found = _parts(table.columns)
    if kind:
        wanted = FORMS[kind]
        if kind == "retrieval" and "relevance" in found:
            wanted = FORMS["reranking"]
        if not set(wanted) <= set(found) and len(table.columns) == len(wanted):
            found = dict(zip(wanted, table.columns, strict=True))
        if set(wanted) <= set(found):
            return Sheet(table, kind, {part: found[part] for part in wanted}, guessed=False)
        raise BadData(f"{_columns(table)}; {kind} needs {_spelt(wanted)}")
    fitting = [each for each in GUESSED if set(FORMS[each]) <= set(found)]
    if "pairs" in fitting and "pair-classification" in fitting:
        fitting.remove("pair-classification")  # a score says more than a class
    fitting = [each for each in fitting if not any(set(FORMS[each]) < set(FORMS[other]) for other in fitting)]
    if len(fitting) == 1:
        return Sheet(table, fitting[0], {part: found[part] for part in FORMS[fitting[0]]}, guessed=True)
    several = f" could be {' or '.join(fitting)}" if fitting else " match no kind of task"
    allowed = "; ".join(f"{each}: {_spelt(FORMS[each])}" for each in GUESSED)
    raise BadData(f"{_columns(table)},{several}; choose one with {table.path}:KIND, or rename the columns: {allowed}")


def _parts(columns: Sequence[str]) -> dict[str, str]:
    """The column of each part that has one."""
    plain = {name.strip().lower().replace(" ", "_").replace("-", "_"): name for name in reversed(columns)}
    return {
        part: plain[name] for part, names in NAMES.items() for name in reversed(names) if name in plain
    }  # the last one wins, and that is the first name


def _of(form: tuple[str, ...]) -> list[str]:
    return [kind for kind, parts in FORMS.items() if parts == form]


def _columns(table: Table) -> str:
    shown = ", ".join(repr(each[:40]) for each in table.columns[:20]) or "none"
    return f"{table.path} has the columns {shown}"


def _spelt(parts: Sequence[str]) -> str:
    return " + ".join("/".join(NAMES[part][:2]) for part in parts)
