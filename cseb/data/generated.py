"""The corpus of the built-in synthetic benchmark (microworld): generated once, then read from the user's cache."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable
from pathlib import Path

from platformdirs import user_cache_path

from cseb.data.bounded import open_regular
from cseb.data.corpus import Corpus, pack
from cseb.data.files import write_whole
from cseb.errors import BadData
from cseb.microworld import VERSION, sentences, triples
from cseb.progress import counted

COUNT = 100_000  # sentences, if none are asked for
MOST = 1_000_000


def microworld(ref: str) -> Corpus:
    """The corpus called `microworld[:triples][:COUNT[:SEED]]`; a smaller count is the beginning of a larger one.

    Triples are lines "sentence TAB paraphrase TAB distractor". Raises: BadData.
    """
    asked = re.fullmatch(r"microworld(:triples)?(?::(\d{1,9})(?::(\d{1,9}))?)?", ref, re.ASCII)
    count, seed = (int(asked[2] or COUNT), int(asked[3] or 0)) if asked else (0, 0)
    if not asked or not 1 <= count <= MOST:
        raise BadData(
            f"{ref!r} is not of the form microworld[:triples][:COUNT[:SEED]] with a COUNT from 1 to {MOST}, such as "
            "microworld:200000"
        )
    kind = "-triples" if asked[1] else ""
    path = user_cache_path("cseb") / f"microworld{kind}-v{VERSION}-{count}-{seed}.txt"
    if (cached := _cached(path, ref)) is not None:
        return cached
    rows = map("\t".join, triples(count, seed)) if kind else sentences(count, seed)
    return _written(path, ref, rows, count)


def _cached(path: Path, ref: str) -> Corpus | None:
    """The cached corpus, unless it is missing or damaged: its first line must be the hash of the rest."""
    try:
        with open_regular(path) as file:
            sha256 = file.readline().decode().strip()
            corpus = pack(ref, (line.decode() for line in file))
    except (OSError, UnicodeDecodeError, BadData):
        return None
    return corpus if corpus.sha256 == sha256 else None


def _written(path: Path, ref: str, rows: Iterable[str], count: int) -> Corpus:
    corpus = pack(ref, counted(rows, f"generating {ref}", count))
    with contextlib.suppress(OSError):  # the cache saves time and nothing else
        write_whole(path, [f"{corpus.sha256}\n".encode(), corpus.text])
    return corpus
