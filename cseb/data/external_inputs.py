"""Hashes of the external files and models that a method reads: part of the identity of its jobs."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from cseb.data.checkpoint import CONFIG, PICKLES
from cseb.data.weights import TOKENIZER, WEIGHTS, find_encoder, matching, sha256_of
from cseb.errors import BadData
from cseb.methods.part_facts import facts


def contents(named: Iterable[tuple[str, str, str]]) -> dict[str, str]:
    """Name to sha256. named: as `Method.external_inputs` gives them, (part, option, file, folder or hub name).

    An encoder is brought from the hub. Translators that are no folders are known by their names alone: where all
    translations are in the cache, nobody asks for them. A missing file is answered by the part that reads it.
    Raises: BadData.
    """
    found = {}
    for part, option, name in named:
        if facts(part).external[option] == "encoder":
            try:
                found[name] = find_encoder(name)[1]
            except BadData as error:
                own = [f"+{part}({key}={value}) avoids the other model" for key, value in facts(part).own.items()]
                raise BadData(f"{part}: {option}: {'; '.join([str(error), *own])}") from None
        elif (path := Path(name)).is_file():
            found[name] = sha256_of([path])
        elif path.is_dir():
            found[name] = sha256_of(matching(path, (CONFIG, *TOKENIZER, *WEIGHTS, *PICKLES)))
    return found
