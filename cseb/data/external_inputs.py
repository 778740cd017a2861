"""Hashes of the external files and models that a method reads: part of the identity of its jobs."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from cseb.data import weights
from cseb.data.bounded import is_file
from cseb.data.checkpoint import CONFIG, PICKLES
from cseb.data.weights import TOKENIZER, WEIGHTS, find_encoder, matching, sha256_of
from cseb.errors import BadData
from cseb.methods.part_facts import facts

EMBEDDERS = "it may be a folder, a hub name, st:FOLDER, glove:FILE or a file of sentence vectors (.npz)"


def contents(named: Iterable[tuple[str, str, str]]) -> dict[str, str]:
    """Return the sha256 of external inputs by name.

    Encoders are downloaded from the hub. Translators that are no folders are identified by name only: they are not
    needed where all translations are in the cache. A missing file is reported by the part that reads it.

    Args:
        named: (part, option, file, folder or hub name), see `Method.external_inputs`.

    Raises:
        BadData: if an encoder is not found.
    """
    hashes = {}
    for part, option, name in named:
        kind = facts(part).external[option]
        if kind == "embedder":
            try:
                hashes[name] = _embedder(name)
            except BadData as error:
                raise BadData(f"{part}: {option}: {error}; {EMBEDDERS}") from None
        elif kind == "encoder":
            try:
                hashes[name] = find_encoder(name)[1]
            except BadData as error:
                own = [f"+{part}({key}={value}) avoids the other model" for key, value in facts(part).own.items()]
                raise BadData(f"{part}: {option}: {'; '.join([str(error), *own])}") from None
        elif (path := Path(name)).is_file():
            hashes[name] = sha256_of([path])
        elif path.is_dir():
            hashes[name] = sha256_of(matching(path, (CONFIG, *TOKENIZER, *WEIGHTS, *PICKLES)))
    return hashes


def _embedder(name: str) -> str:
    """Return the hash of a finished encoder: a file of vectors, a folder or a hub name. Raises: BadData."""
    kind, colon, rest = name.partition(":")
    if kind == "st" and colon:
        return weights.modules_sha256(weights.locate_modules(rest))
    if is_file(path := Path(rest if kind == "glove" and colon else name)):
        return sha256_of([path])
    if is_file(path / weights.MODULES):
        return weights.modules_sha256(path)
    return find_encoder(name)[1]
