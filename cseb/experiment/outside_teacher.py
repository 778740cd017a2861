"""Embeddings of the teacher that a method names; those of a subset are cached."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cache, lru_cache
from pathlib import Path

import torch
from platformdirs import user_cache_path

from cseb import embedders
from cseb.embedders.interface import Embedder, EncoderOptions
from cseb.embedders.vector_cache import Cache
from cseb.encoder import linear
from cseb.errors import BadData, BadSpec, CsebError
from cseb.parts import Outside
from cseb.tasks.task import Embed, Vectors


def find(encoder: str, pooler: str, device: str = "cpu", trust_remote_code: bool = False) -> Embedder:
    """Return the teacher, without its weights. Raises: BadSpec."""
    how = EncoderOptions(pooler=pooler, device=device, trust_remote_code=trust_remote_code)
    try:
        return embedders.find(encoder, how)
    except CsebError as error:
        raise BadSpec(f"outside_teacher: {error}") from None


def width_of(stage: Outside) -> int:
    """Return the number of dimensions of a teacher; it is loaded once. Raises: BadSpec."""
    return _width_of(stage.encoder, stage.pooler)


@lru_cache(maxsize=8)
def _width_of(encoder: str, pooler: str) -> int:
    return int(find(encoder, pooler).open()([]).shape[1])


def vectors(stage: Outside, device: str, threads: int, trust_remote_code: bool) -> Embed:
    """Return a function that embeds texts with this teacher, which is loaded only if a text is not cached.

    Embeddings are cached for a whole list of texts, since other sentences in a batch change the last bit: the same
    subset has the same bits, whatever ran before.
    """

    def embed(texts: Sequence[str]) -> Vectors:
        teacher = find(stage.encoder, stage.pooler, device, trust_remote_code)
        loaded = cache(teacher.open)
        if not teacher.alone:
            return loaded()(texts)
        by = (teacher.source.sha256, teacher.resolved, device, str(threads), linear.taken(), torch.__version__)
        key = hashlib.sha256("\0".join((*by, *texts)).encode("utf-8", "surrogatepass")).hexdigest()
        try:
            return Cache(cache_folder(), key, lambda missing: loaded()(missing))(texts)  # noqa: PLW0108 (loads only if a text is missing)
        except BadData:  # the folder cannot be written
            return loaded()(texts)

    return embed


def cache_folder() -> Path:
    """Return the folder of cached embeddings of teachers."""
    return user_cache_path("cseb") / "teachers"
