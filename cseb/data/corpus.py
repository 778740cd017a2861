"""A corpus: sentences in one block of memory with the hash that names them, read from any source that a user names."""

from __future__ import annotations

import difflib
import hashlib
import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import numpy as np
import numpy.typing as npt

from cseb import open_data
from cseb.data.bounded import is_file
from cseb.data.hub import Reference, hub_file, hub_rows, parse_reference
from cseb.data.manifest import local_path
from cseb.data.provenance import GENERATED, Provenance, provenance_of
from cseb.data.readers import HEADED, READERS, SPLITS, ending, is_saved, read_rows
from cseb.errors import BadData, did_you_mean, shortened
from cseb.progress import counted, remark
from cseb.text import quantity

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
            text = "" if is_number and text == "nan" else text  # a missing number
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
    raise BadData(f"{where}, row {number}: column {column!r} holds {shortened(cell)}; text is needed")


def listed(header: Sequence[str]) -> str:
    """Return the names of columns, for messages."""
    return ", ".join(repr(name[:40]) for name in header[:20]) or "none"


_LINE_BREAK = re.compile(r"\s*\n\s*")


@dataclass(frozen=True, slots=True, eq=False)
class Corpus:
    """Sentences in order: a million of them take little more memory than their text."""

    name: str  # as the user typed it
    sha256: str  # hash of the sentences, each in UTF-8 and followed by a line feed; before them the roles, if any
    blank: int  # number of blank lines, which were dropped
    text: bytearray  # the hashed bytes
    starts: npt.NDArray[np.int64]  # (N + 1,) offsets into them; sentence i ends with its line feed at `starts[i + 1]`
    provenance: Provenance | None = None  # of sentences that a language model wrote, from a file beside the corpus
    roles: tuple[str, ...] = ()  # of the texts that TABs join in each line, see `cseb.data.corpus`; () for plain lines

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, index: int) -> str:
        place = range(len(self))[index]  # checks the bounds and counts negative indices from the end
        return self.text[self.starts[place] : self.starts[place + 1] - 1].decode()

    def __iter__(self) -> Iterator[str]:
        return map(self.__getitem__, range(len(self)))

    def columns(self) -> npt.NDArray[np.int64]:
        """Return the number of texts that TABs join in each line: (N,)."""
        tabs = np.flatnonzero(np.frombuffer(self.text, dtype=np.uint8) == ord("\t"))
        return 1 + np.diff(np.searchsorted(tabs, self.starts))

    def take(self, indices: Iterable[int]) -> list[str]:
        """Return the sentences at these places, in the order asked for."""
        return [self[index] for index in indices]

    def texts(self, indices: Iterable[int], wanted: Sequence[str]) -> list[str]:
        """Return the sentences at these places; of lines with roles only the texts that are `wanted`, or the first.

        Raises: BadData if the corpus has no such role.
        """
        if not self.roles:
            return self.take(indices)
        if lacking := [role for role in wanted if role not in self.roles]:
            raise BadData(f"{self.name} has the columns {', '.join(self.roles)}, and none is {lacking[0]}")
        places = [self.roles.index(role) for role in wanted or self.roles[:1]]
        lines = (line.split("\t") for line in self.take(indices))
        return ["\t".join(line[place] for place in places) for line in lines]


def pack(name: str, rows: Iterable[str], roles: tuple[str, ...] = ()) -> Corpus:
    """Return the corpus of these rows, blank ones left out. roles: see Corpus. Raises: BadData."""
    text, starts, blank = bytearray(), array("q", [0]), 0
    try:
        for row in rows:
            sentence = row.strip()
            if not sentence:
                blank += 1
                continue
            if "\n" in sentence:  # a cell of a table may hold several lines, a sentence is one
                sentence = _LINE_BREAK.sub(" ", sentence)
            text += sentence.encode()
            text += b"\n"
            starts.append(len(text))
    except UnicodeEncodeError as error:
        code = ord(error.object[error.start])  # U+DC80 to U+DCFF: Python's stand-in for a byte that is not UTF-8
        wrong = (
            f"is not UTF-8 (byte 0x{code - 0xDC00:02x})" if 0xDC80 <= code <= 0xDCFF else "holds an unpaired surrogate"
        )
        raise BadData(f"{name}, row {blank + len(starts)} {wrong}, invalid as text; correct that row") from None
    if not text:
        only = f", only {quantity(blank, 'blank row')}" if blank else ""
        raise BadData(f"{name} holds no sentence{only}; one a line or row is needed")
    digest = hashlib.sha256("\t".join(roles).encode() + b"\n" if roles else b"")
    digest.update(text)
    return Corpus(name, digest.hexdigest(), blank, text, np.frombuffer(starts, dtype=np.int64), roles=roles)


WIKIPEDIA = "wikipedia"  # the corpus that comes with cseb


def read_corpus(ref: str, column: str = "", data_dir: str = "") -> Corpus:
    """Return the corpus of a name. White space around a sentence and blank lines are dropped.

    ref: a file, a folder of `save_to_disk` (its split `train` if it has several), `hub:...` (see `cseb.data.hub`),
    `data:FILE` (a file that `cseb data list` knows, below `data_dir` or in the caches), `generated:FILE` (a file that
    a language model wrote, with its provenance beside it), or `wikipedia[:COUNT]`. column: of a table, with the text;
    by default `text`, `sentence` or the only one. Or several with their roles: anchor=title,positive=body. Raises:
    BadData, UnknownName.
    """
    kind, _, name = ref.partition(":")
    if kind == WIKIPEDIA:
        return _wikipedia(ref)
    columns = Columns.of(column)
    if kind == "hub" and (place := parse_reference(name)).file == "" and not is_saved(Path(name)):
        return pack(ref, _sentences(ref, columns, place), columns.roles)
    if kind == "hub" and place.file:
        path = hub_file(place.name, place.file, place.revision)
    elif kind == "data":
        path = local_path(name, Path(data_dir) if data_dir else None)
    else:
        path = Path(name if kind in (GENERATED, "hub") else ref)
    if is_file(path / SPLITS) and (path / "train").is_dir():
        path /= "train"
    provenance = None if kind == "hub" else provenance_of(path, needed=kind == GENERATED)
    return replace(pack(ref, _sentences(ref, columns, path), columns.roles), provenance=provenance)


def _sentences(ref: str, columns: Columns, place: Path | Reference) -> Iterator[str]:
    """Yield the lines of a file, or of a data set of the hub."""
    path = place if isinstance(place, Path) else None
    where = str(path or ref)

    def choose(header: list[str]) -> Sequence[str]:
        nonlocal columns
        if path and ending(path) == ".txt":
            if columns.names[0]:
                raise BadData(f"{where} is plain text and has no column {columns.names[0]!r}; leave `column` out")
            return ()
        named, columns = any(columns.names), columns.in_header(header, where)
        if path and ending(path) in HEADED and not named and columns.names[0] not in DEFAULT_COLUMNS:
            remark(f"{where}: line 1, {shortened(columns.names[0])}, is read as the header, not as a sentence")
        return columns.names

    hint = "see also hub:NAME and wikipedia"
    rows = read_rows(place, choose, tuple(READERS), hint) if isinstance(place, Path) else hub_rows(ref, place, choose)
    for number, cells in counted(rows, f"reading {ref}"):
        yield columns.line(cells, where, number)


def _wikipedia(ref: str) -> Corpus:
    """Return the sentences of Wikipedia that come with cseb, or the first COUNT. Raises: BadData."""
    sentences = open_data.lines("corpora/wikipedia.txt")
    match = re.fullmatch(rf"{WIKIPEDIA}(?::(\d{{1,9}}))?", ref, re.ASCII)
    count = int(match[1] or len(sentences)) if match else 0
    if not 1 <= count <= len(sentences):
        raise BadData(
            f"{ref!r} is not wikipedia[:COUNT] with a COUNT from 1 to {len(sentences)}, such as wikipedia:1000"
        )
    return pack(ref, sentences[:count])
