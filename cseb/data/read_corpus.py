"""Read any corpus that a user names."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from cseb.data.corpus import Corpus, pack
from cseb.data.hub import hub_rows
from cseb.data.places import here
from cseb.data.readers import ending, file_rows
from cseb.progress import tell

EVERY = 1000  # rows between two reports of how many were read


def read_corpus(ref: str, column: str = "", data_dir: str = "") -> Corpus:
    """The corpus that `ref` names: a file, `hub:...` (see `hub_rows`), `microworld[:COUNT[:SEED]]` or `data:FILE`.

    White space around a sentence is dropped, and so are blank lines. column: which one of a table holds the text; ""
    stands for `text`, `sentence` or the only one. data_dir: below which `data:FILE`, a file that `cseb data list`
    knows, is looked for, as the files of tasks are; without it in the caches.

    Raises: BadData or UnknownName, one line that says what was found and what to try.
    """
    if ref.partition(":")[0] == "microworld":
        from cseb.data.generated import microworld  # not needed for text of one's own

        return microworld(ref)
    place = _place(ref, data_dir)
    return pack(ref, _told(place, _rows(place, column)))


def beginning(ref: str, column: str, count: int, data_dir: str = "") -> Corpus:
    """The first so many sentences of a corpus, without reading the rest of a file. Raises: BadData."""
    if ref.partition(":")[0] == "microworld":
        return read_corpus(ref, column)  # a whole one is in the cache
    return pack(ref, islice(_rows(_place(ref, data_dir), column), count))


def _place(ref: str, data_dir: str) -> str:
    """Where a file of the manifest lies; any other name as it is."""
    kind, _, name = ref.partition(":")
    return str(here(name, Path(data_dir) if data_dir else None)) if kind == "data" else ref


def _rows(ref: str, column: str) -> Iterator[str]:
    kind, _, place = ref.partition(":")
    return hub_rows(place, column) if kind == "hub" else file_rows(Path(ref), column)


def _told(ref: str, rows: Iterator[str]) -> Iterator[str]:
    """The rows; how many there are likely to be is worked out from the size of a file of plain text."""
    path, characters = Path(ref), 0
    plain = ending(path) == ".txt" and path.suffix.lower() == ".txt"  # not packed
    for number, row in enumerate(rows, 1):
        yield row
        characters += len(row)
        if not number % EVERY:
            whole = path.stat().st_size if plain else 0
            tell(f"reading {ref}", number, max(number, whole * number // max(characters, 1)) if plain else 0)
