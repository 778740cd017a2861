"""Read any corpus that a user names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from cseb import open_data
from cseb.data.bounded import is_file
from cseb.data.columns import Columns
from cseb.data.corpus import Corpus, pack
from cseb.data.hub import hub_file, hub_rows, parse_reference
from cseb.data.places import local_path
from cseb.data.provenance import GENERATED, provenance_of
from cseb.data.readers import READERS, SPLITS, ending, is_saved, read_rows
from cseb.errors import BadData
from cseb.progress import counted

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
        return pack(ref, _sentences(ref, columns, place=name), columns.roles)
    if kind == "hub" and place.file:
        path = hub_file(place.name, place.file, place.revision)
    elif kind == "data":
        path = local_path(name, Path(data_dir) if data_dir else None)
    else:
        path = Path(name if kind in (GENERATED, "hub") else ref)
    if is_file(path / SPLITS) and (path / "train").is_dir():
        path /= "train"
    provenance = None if kind == "hub" else provenance_of(path, needed=kind == GENERATED)
    return replace(pack(ref, _sentences(ref, columns, path=path), columns.roles), provenance=provenance)


def _sentences(ref: str, columns: Columns, path: Path | None = None, place: str = "") -> Iterator[str]:
    """Yield the lines of a file, or of a data set of the hub."""
    where = str(path or ref)

    def choose(header: list[str]) -> Sequence[str]:
        nonlocal columns
        if path and ending(path) == ".txt":
            if columns.names[0]:
                raise BadData(f"{where} is plain text and has no column {columns.names[0]!r}; leave `column` out")
            return ()
        columns = columns.in_header(header, where)
        return columns.names

    hint = "see also hub:NAME and wikipedia"
    rows = read_rows(path, choose, tuple(READERS), hint) if path else hub_rows(place, choose)
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
