"""Which columns of a table a corpus is made of: one of sentences, or several by what each of them is."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self

from cseb.errors import BadData, did_you_mean

DEFAULT_COLUMNS = ("text", "sentence")
ANCHOR, POSITIVE, NEGATIVE, LEFT, RIGHT, SCORE = ROLES = ("anchor", "positive", "negative", "left", "right", "score")
# What may stand in a line of a corpus together, in this order.
FORMS = ((ANCHOR, POSITIVE), (ANCHOR, POSITIVE, NEGATIVE), (LEFT, RIGHT, SCORE))
EXAMPLE = "anchor=title,positive=body"
_INSIDE = re.compile(r"[\t\r\n]+")  # what would end a text, or a line


@dataclass(frozen=True, slots=True)
class Columns:
    """roles: what each column is, () for one column of sentences. names: in the table, "" for the usual one."""

    roles: tuple[str, ...]
    names: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> Self:
        """`body`, or `anchor=title,positive=body`. Raises: BadData."""
        if "=" not in text:
            return cls((), (text,))
        pairs = [piece.partition("=") for piece in text.split(",")]
        roles = tuple(role.strip() for role, _, _ in pairs)
        if unknown := [role for role in roles if role not in ROLES]:
            raise BadData(
                f"column is {text[:80]!r}: no column can be {unknown[0][:40]!r}; {did_you_mean(unknown[0], ROLES)}"
            )
        form = next((form for form in FORMS if sorted(form) == sorted(roles)), None)
        if form is None:
            allowed = ", or ".join(" + ".join(form) for form in FORMS)
            raise BadData(f"column is {text[:80]!r}; allowed together: {allowed}, each once, such as {EXAMPLE}")
        names = {role: name.strip() for role, (_, _, name) in zip(roles, pairs, strict=True)}
        return cls(form, tuple(names[role] for role in form))

    def found(self, header: Sequence[str], where: str) -> Self:
        """Return the same with names that are in this header. Raises: BadData with the columns that are there."""
        if not self.roles:
            return type(self)((), (pick_column(self.names[0], header, where),))
        for role, name in zip(self.roles, self.names, strict=True):
            if name not in header:
                near = difflib.get_close_matches(name, header, n=1)
                hint = f"; did you mean {role}={near[0]}?" if near else ""
                raise BadData(f"{where} has no column {name!r}, named as {role}; found: {_shown(header)}{hint}")
        return self

    def line(self, cells: Iterable[object], where: str, number: int) -> str:
        """Return a row as a line of the corpus: its text, or its texts joined by TABs; "" for a blank row.

        cells: those of `names`, in their order. Raises: BadData with the number of the row.
        """
        if not self.roles:
            (cell,) = cells
            return as_text(cell, where, number, self.names[0])
        texts = []
        for role, name, cell in zip(self.roles, self.names, cells, strict=True):
            rated = role == SCORE and isinstance(cell, int | float) and not isinstance(cell, bool)
            texts.append(_INSIDE.sub(" ", repr(cell) if rated else as_text(cell, where, number, name)).strip())
        if any(texts) and not all(texts):
            at = texts.index("")
            raise BadData(
                f"{where}, row {number}: column {self.names[at]!r} ({self.roles[at]}) is blank; fill it, or leave the "
                "row out"
            )
        return "\t".join(texts) if any(texts) else ""


def pick_column(column: str, found: Sequence[str], name: str) -> str:
    """The text column: `column`, or the default one if it is "". Raises: BadData with the columns that were found."""
    if column and column in found:  # a column without a name is no answer to a question not asked
        return column
    if column:
        near = difflib.get_close_matches(column, found, n=1)
        hint = f"; did you mean `column` {near[0]}?" if near else ""
        raise BadData(f"{name} has no column {column!r}; found: {_shown(found)}{hint}")
    usual = [default for default in DEFAULT_COLUMNS if default in found] or list(found)
    if not usual or (len(found) > 1 and usual[0] not in DEFAULT_COLUMNS):
        raise BadData(
            f"{name} has no column called {' or '.join(DEFAULT_COLUMNS)}; choose one with `column`; found: "
            f"{_shown(found)}; of pairs and triples name all: `column` {EXAMPLE}"
        )
    return usual[0]


def as_text(value: object, name: str, number: int, column: str) -> str:
    """Return a cell as text, a missing one as a blank. Raises: BadData with the number of the row."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    raise BadData(f"{name}, row {number}: column {column!r} holds a {type(value).__name__}; text is needed")


def _shown(found: Sequence[str]) -> str:
    return ", ".join(repr(each[:40]) for each in found[:20]) or "none"
