"""The interface of encoders that can be evaluated: an embedder maps sentences to vectors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cseb.records.record import Source
from cseb.tasks.task import Embed

BATCH = 1024  # sentences that a third-party encoder gets at a time


@dataclass(frozen=True, slots=True, kw_only=True)
class EncoderOptions:
    """Options of any encoder.

    pooler: "" leaves the choice to the encoder's files. results: folder of records, whose saved models have keys.
    data_dir: folder of `data:FILE`, by default that of the environment variable CSEB_DATA_DIR.
    """

    pooler: str = ""
    dtype: str = "fp32"
    device: str = "cpu"
    trust_remote_code: bool = False
    results: Path = Path("results")
    data_dir: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedder:
    """An encoder to be scored as it is.

    source: name as typed, and sha256 of the content. method: its name in tables, such as `mean`. resolved: everything
    else that determines its vectors, in the form of `Method.resolved`. open: loads the weights and returns a function
    from N sentences to (N, D) float32 vectors. data_seen, notes: as in a record. alone: whether a sentence's vector
    depends on that sentence only, so that it may be cached. folder: with its tokenizer.json, if it has one.
    """

    source: Source
    method: str
    resolved: str
    open: Callable[[], Embed]
    data_seen: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    alone: bool = True
    folder: Path | None = None


PART_WEIGHTS = "cseb.safetensors"  # of pooler, head and post-processor in a saved model
OWN_MODULE = "cseb.embedders.saved_module.SavedEncoder"  # of saved models that sentence-transformers cannot describe


def library_loads(folder: Path) -> bool:
    """Return whether sentence-transformers loads a saved model with modules of its own."""
    file = folder / "modules.json"
    return file.is_file() and OWN_MODULE not in file.read_text(encoding="utf-8")
