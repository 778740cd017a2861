"""What lies in files and models that a method names: part of the identity of its jobs."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from cseb.data.weights import CONFIG, PICKLES, TOKENIZER, WEIGHTS, find_encoder, matching, sha256_of
from cseb.errors import BadData
from cseb.registry import GENERATORS


def contents(named: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Name to sha256. named: as `Method.outside` gives them, (part, file, folder or hub name).

    A generator is brought from the hub. Translators that are no folders are known by their names alone: where all
    translations are in the cache, nobody asks for them. A missing file is answered by the part that reads it.
    Raises: BadData.
    """
    found = {}
    for part, name in named:
        if part in GENERATORS:
            try:
                found[name] = find_encoder(name)[1]
            except BadData as error:
                raise BadData(f"{part}: generator: {error}; +{part}(generator=self) needs no other model") from None
        elif (path := Path(name)).is_file():
            found[name] = sha256_of([path])
        elif path.is_dir():
            found[name] = sha256_of(matching(path, (CONFIG, *TOKENIZER, *WEIGHTS, *PICKLES)))
    return found
