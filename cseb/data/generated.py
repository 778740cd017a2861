"""The corpus of the embedded world: written once, then read from the user's cache."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

from platformdirs import user_cache_path

from cseb.data.corpus import Corpus, pack
from cseb.data.files import write_whole
from cseb.errors import BadData
from cseb.microworld import VERSION, sentences

COUNT = 100_000  # sentences, if none are asked for
MOST = 1_000_000


def microworld(ref: str) -> Corpus:
    """The corpus called `microworld[:COUNT[:SEED]]`; a smaller count is the beginning of a larger one.

    Raises: BadData.
    """
    asked = re.fullmatch(r"microworld(?::(\d{1,9})(?::(\d{1,9}))?)?", ref, re.ASCII)
    count, seed = (int(asked[1] or COUNT), int(asked[2] or 0)) if asked else (0, 0)
    if not 1 <= count <= MOST:
        raise BadData(
            f"{ref!r} is not microworld[:COUNT[:SEED]] with a COUNT from 1 to {MOST}, such as microworld:200000"
        )
    path = user_cache_path("cseb") / f"microworld-v{VERSION}-{count}-{seed}.txt"
    return _cached(path, ref) or _written(path, ref, count, seed)


def _cached(path: Path, ref: str) -> Corpus | None:
    """What an earlier run has written, unless it is missing or damaged: its first line must be the hash of the rest."""
    try:
        with path.open("rb") as file:
            sha256 = file.readline().decode().strip()
            corpus = pack(ref, (line.decode() for line in file))
    except (OSError, UnicodeDecodeError, BadData):
        return None
    return corpus if corpus.sha256 == sha256 else None


def _written(path: Path, ref: str, count: int, seed: int) -> Corpus:
    corpus = pack(ref, sentences(count, seed))
    with contextlib.suppress(OSError):  # the cache saves time and nothing else
        write_whole(path, [f"{corpus.sha256}\n".encode(), corpus.text])
    return corpus
