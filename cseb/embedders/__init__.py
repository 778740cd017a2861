"""What can be evaluated: anything that maps sentences to vectors, under one small contract.

Nothing here loads weights before `open` is called, so that an encoder whose record exists costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cseb.errors import BadSpec
from cseb.results.record import Source
from cseb.tasks.task import Embed

BATCH = 1024  # sentences that a foreign encoder gets at a time


@dataclass(frozen=True, slots=True, kw_only=True)
class How:
    """What a user may say of any encoder. pooler: "" leaves the choice to the encoder's own files.

    results: the folder of records whose `models` are known by their keys.
    """

    pooler: str = ""
    dtype: str = "fp32"
    device: str = "cpu"
    trust_remote_code: bool = False
    results: Path = Path("results")


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedder:
    """One encoder as it stands.

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


def find(name: str, how: How) -> Embedder:
    """The encoder a user names; its files are hashed, its weights are not loaded yet.

    name, in the order in which it is tried: `st:FOLDER` (sentence-transformers), `glove:FILE` (word vectors),
    `words:tf-idf` or `words:random`, `module:function`, the key of a record whose model was saved, a file of word
    vectors, a folder or hub name. Raises: CsebError.
    """
    from cseb.embedders import folders, functions, word_vectors

    kind, colon, rest = name.partition(":")
    if kind == "st" and colon:
        from cseb.embedders import modules

        return modules.find(rest, how)
    found: Embedder | None = None
    if kind == "glove" and colon:
        found = word_vectors.find(rest)
    elif kind == "words" and colon:
        found = word_vectors.baseline(rest)
    elif functions.NAME.fullmatch(name):
        found = functions.find(name)
    elif name.endswith(word_vectors.SUFFIXES) and Path(name).is_file():
        found = word_vectors.find(name)
    if found is None:
        return folders.find(name, how)
    if how.pooler or how.dtype != "fp32":
        asked = f"--pooler {how.pooler}" if how.pooler else f"--dtype {how.dtype}"
        raise BadSpec(f"{name} gives whole vectors of its own, so {asked} has no meaning for it; leave it out")
    return found
