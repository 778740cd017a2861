"""The interface of anything that can be evaluated: it maps sentences to vectors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cseb.records.record import Source
from cseb.tasks.task import Embed

BATCH = 1024  # sentences that a foreign encoder gets at a time


@dataclass(frozen=True, slots=True, kw_only=True)
class EncoderOptions:
    """What a user may set for any encoder. pooler: "" leaves the choice to the encoder's own files.

    results: the folder of records whose `models` are known by their keys.
    """

    pooler: str = ""
    dtype: str = "fp32"
    device: str = "cpu"
    trust_remote_code: bool = False
    results: Path = Path("results")


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedder:
    """One encoder to be scored as it is.

    source: its name as typed and the sha256 of its content. method: what a table says of it, such as `mean`. resolved:
    all that decides its vectors besides the content, in the form of `Method.resolved`. open: loads it; what comes back
    maps N sentences to (N, D) float32 vectors. data_seen: as in a record. notes: for the reader of a record. alone:
    whether the vector of a sentence depends on that sentence only, so that it may be kept for another day.
    """

    source: Source
    method: str
    resolved: str
    open: Callable[[], Embed]
    data_seen: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    alone: bool = True


HELD = "cseb.safetensors"
