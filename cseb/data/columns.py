"""Columns of a table that make up a corpus: one of sentences, or several with a role each."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self

from cseb.errors import BadData, did_you_mean

DEFAULT_COLUMNS = ("text", "sentence")
ANCHOR, POSITIVE, NEGATIVE, LEFT, RIGHT, SCORE, TEXT, LABEL = ROLES = (
    *("anchor", "positive", "negative", "left", "right", "score", "text", "label"),
)
FORMS = ((ANCHOR, POSITIVE), (ANCHOR, POSITIVE, NEGATIVE), (LEFT, RIGHT, SCORE), (TEXT, LABEL))  # roles of a line
EXAMPLE = "anchor=title,positive=body"
_BREAKS = re.compile(r"[\t\r\n]+")  # would end a text or a line
_NO_NAME = re.compile(r"[\s|]")  # a sentence, or columns that are separated by something else


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns to read: `names` in the table, "" for the usual one; their `roles`, () for a column of sentences."""

    roles: tuple[str, ...]
    names: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> Self:
        """Parse `body` or `anchor=title,positive=body`. Raises: BadData."""
        if "=" not in text:
            return cls((), (text,))
        names = {role.strip(): name.strip() for role, _, name in (piece.partition("=") for piece in text.split(","))}
        if unknown := [role for role in names if role not in ROLES]:
            hint = did_you_mean(unknown[0], ROLES)
            raise BadData(f"column is {text[:80]!r}: no column can be {unknown[0][:40]!r}; {hint}")
        form = next((form for form in FORMS if sorted(form) == sorted(names)), None)
        if form is None or text.count(",") >= len(form):
            allowed = ", or ".join(" + ".join(form) for form in FORMS)
            raise BadData(f"column is {text[:80]!r}; allowed together: {allowed}, each once, such as {EXAMPLE}")
        return cls(form, tuple(names[role] for role in form))

    def in_header(self, header: Sequence[str], where: str) -> Self:
        """Return the same with names that are in this header; `where` names it in messages. Raises: BadData."""
        names = self.names
        if not (self.roles or names[0]):
            names = (_usual(header, where),)
        for place, name in enumerate(names):
            if name not in header:
                role = self.roles[place] if self.roles else "`column`"
                near = difflib.get_close_matches(name, header, n=1)
                hint = f"; did you mean {role}{'=' if self.roles else ' '}{near[0]}?" if near else ""
                named = f", named as {role}" if self.roles else ""
                raise BadData(f"{where} has no column {name!r}{named}; found: {listed(header)}{hint}")
            if header.count(name) > 1:
                raise BadData(f"{where} has {header.count(name)} columns {name!r}; rename one")
        return type(self)(self.roles, names)

    def line(self, cells: Iterable[object], where: str, number: int) -> str:
        """Return a row as a line of the corpus: its text, or its texts joined by TABs; "" for a blank row.

        cells: In the order of `names`. Raises: BadData with the number of the row.
        """
        if not self.roles:
            return "".join(_text(cell, where, number, self.names[0]) for cell in cells)
        texts = []
        for role, name, cell in zip(self.roles, self.names, cells, strict=False):  # a blank row has no cells
            is_number = role in (SCORE, LABEL) and isinstance(cell, int | float) and not isinstance(cell, bool)
            text = repr(cell) if is_number else _text(cell, where, number, name)
            texts.append(_BREAKS.sub(" ", text).strip())
        if any(texts) and not all(texts):
            place = texts.index("")
            raise BadData(
                f"{where}, row {number}: column {self.names[place]!r} ({self.roles[place]}) is blank; fill it, or "
                "leave the row out"
            )
        return "\t".join(texts) if any(texts) else ""


def _usual(header: Sequence[str], where: str) -> str:
    """Return the text column where none is named: `text`, `sentence` or the only one. Raises: BadData."""
    usual = [name for name in DEFAULT_COLUMNS if name in header]
    if not usual and len(header) != 1:
        raise BadData(
            f"{where} has no column called {' or '.join(DEFAULT_COLUMNS)}; choose one with `column`; found: "
            f"{listed(header)}; of pairs and triples name all: `column` {EXAMPLE}"
        )
    if len(header) == 1 and _NO_NAME.search(header[0]):
        raise BadData(
            f"{where} has one column and line 1 is {header[0][:40]!r}, not a header; put a line such as text above "
            "it, save several columns with commas (or as .tsv), or name it with `column`"
        )
    return usual[0] if usual else header[0]


def _text(cell: object, where: str, number: int, column: str) -> str:
    if cell is None or isinstance(cell, str):
        return cell or ""
    raise BadData(f"{where}, row {number}: column {column!r} holds a {type(cell).__name__}; text is needed")


def listed(header: Sequence[str]) -> str:
    """Return the names of columns, for messages."""
    return ", ".join(repr(name[:40]) for name in header[:20]) or "none"
