"""Read any corpus that a user names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path

from cseb import open_data
from cseb.data.columns import Columns
from cseb.data.corpus import Corpus, pack
from cseb.data.hub import hub_rows
from cseb.data.places import here
from cseb.data.provenance import GENERATED, Provenance, provenance_of
from cseb.data.readers import ending, file_rows
from cseb.errors import BadData
from cseb.progress import tell

EVERY = 1000  # rows between two reports of how many were read


def read_corpus(ref: str, column: str = "", data_dir: str = "") -> Corpus:
    """The corpus that `ref` names: a file, `hub:...` (see `hub_rows`), `data:FILE`, `generated:FILE`, or EMBEDDED.

    White space around a sentence is dropped, and so are blank lines. column: which one of a table holds the text, ""
    stands for `text`, `sentence` or the only one; or several and what they are: anchor=title,positive=body.
    data_dir: below which `data:FILE`, a file that `cseb data list` knows, is looked for, as the files of tasks are;
    without it in the caches. A file that a language model wrote has its provenance beside it (see
    `cseb.data.provenance`), and must have it if it is called `generated:FILE`.

    Raises: BadData or UnknownName, one line that says what was found and what to try.
    """
    embedded = EMBEDDED.get(ref.partition(":")[0])
    if embedded is not None:
        return embedded(ref)
    place = _place(ref, data_dir)
    provenance = _provenance(ref, place)
    return replace(pack(ref, _told(place, _rows(place, column)), Columns.of(column).roles), provenance=provenance)


def beginning(ref: str, column: str, count: int, data_dir: str = "") -> Corpus:
    """Return the first so many sentences of a corpus, without reading the rest of a file. Raises: BadData."""
    if ref.partition(":")[0] in EMBEDDED:
        return read_corpus(ref, column)  # the whole one is in the package
    return pack(ref, islice(_rows(_place(ref, data_dir), column), count), Columns.of(column).roles)


def _place(ref: str, data_dir: str) -> str:
    """Where a file of the manifest lies, or one that is declared as generated; any other name as it is."""
    kind, _, name = ref.partition(":")
    if kind == GENERATED:
        return name
    return str(here(name, Path(data_dir) if data_dir else None)) if kind == "data" else ref


def _provenance(ref: str, place: str) -> Provenance | None:
    """Raises: BadData."""
    return None if place.startswith("hub:") else provenance_of(Path(place), needed=ref.startswith(f"{GENERATED}:"))


def _wikipedia(ref: str) -> Corpus:
    """`wikipedia[:COUNT]`: the sentences of Wikipedia that come with cseb, or the first so many. Raises: BadData."""
    sentences = open_data.lines("corpora/wikipedia.txt")
    match = re.fullmatch(r"wikipedia(?::(\d{1,9}))?", ref, re.ASCII)
    count = int(match[1] or len(sentences)) if match else 0
    if not 1 <= count <= len(sentences):
        raise BadData(
            f"{ref!r} is not wikipedia[:COUNT] with a COUNT from 1 to {len(sentences)}, such as wikipedia:1000"
        )
    return pack(ref, sentences[:count])


# Corpora without a file of the user's, by what their names begin with.
EMBEDDED: Mapping[str, Callable[[str], Corpus]] = {"wikipedia": _wikipedia}


def _rows(ref: str, column: str) -> Iterator[str]:
    kind, _, place = ref.partition(":")
    return hub_rows(place, column) if kind == "hub" else file_rows(Path(ref), column)


def _told(ref: str, rows: Iterator[str]) -> Iterator[str]:
    """Yield the rows; how many there are likely to be is worked out from the size of a file of plain text."""
    path, characters = Path(ref), 0
    plain = ending(path) == ".txt" and path.suffix.lower() == ".txt"  # not packed
    for number, row in enumerate(rows, 1):
        yield row
        characters += len(row)
        if not number % EVERY:
            whole = path.stat().st_size if plain else 0
            tell(f"reading {ref}", number, max(number, whole * number // max(characters, 1)) if plain else 0)
