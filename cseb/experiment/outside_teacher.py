"""The teacher from elsewhere that a method names: found, hashed, opened, and its vectors of a subset kept."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import lru_cache
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
    """The teacher; its weights are not loaded. Raises: BadSpec, one line that names the option."""
    how = EncoderOptions(pooler=pooler, device=device, trust_remote_code=trust_remote_code)
    try:
        return embedders.find(encoder, how)
    except CsebError as error:
        raise BadSpec(f"outside_teacher: {error}") from None


def width_of(stage: Outside) -> int:
    """Numbers of a teacher's vector; it is opened once to see. Raises: BadSpec."""
    return _width_of(stage.encoder, stage.pooler)


@lru_cache(maxsize=8)
def _width_of(encoder: str, pooler: str) -> int:
    return int(find(encoder, pooler).open()([]).shape[1])


def vectors(stage: Outside, device: str, threads: int, trust_remote_code: bool) -> Embed:
    """What embeds texts as this teacher does; it is loaded when it is first needed, and not at all where all is kept.

    Vectors are kept by the whole list of texts that was asked for, since others beside a sentence change the last bit
    of its vector: the same subset has the same bits, whatever ran before.
    """

    def embed(texts: Sequence[str]) -> Vectors:
        teacher = find(stage.encoder, stage.pooler, device, trust_remote_code)
        opened: list[Embed] = []

        def open_first(some: Sequence[str]) -> Vectors:
            if not opened:
                opened.append(teacher.open())
            return opened[0](some)

        if not teacher.alone:
            return open_first(texts)
        by = (teacher.source.sha256, teacher.resolved, device, str(threads), linear.taken(), torch.__version__)
        key = hashlib.sha256("\0".join((*by, *texts)).encode("utf-8", "surrogatepass")).hexdigest()
        try:
            return Cache(kept_in(), key, open_first)(texts)
        except BadData:  # a folder that cannot be written keeps nothing
            return open_first(texts)

    return embed


def kept_in() -> Path:
    """Where vectors of teachers are kept."""
    return user_cache_path("cseb") / "teachers"
