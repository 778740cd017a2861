"""A record by its key, by the beginning of its key, or by its file."""

from __future__ import annotations

from pathlib import Path

from cseb.errors import BadResults, did_you_mean
from cseb.records.record import Record
from cseb.records.store import Store
from cseb.text import plain


def find(text: str, results: Path) -> tuple[Store, Record]:
    """The record a user means, and the folder it lies in. Raises: BadResults."""
    if text.endswith(".json"):
        path = Path(text)
        if not path.is_file():
            raise BadResults(f"{plain(text)}: no such record")
        store = Store(path.parent.parent)
        return store, store.read(path.stem)
    store = Store(results)
    known = store.keys()
    fits = sorted(key for key in known if key.startswith(text))
    if len(fits) == 1:
        return store, store.read(fits[0])
    if fits:
        raise BadResults(
            f"{len(fits)} keys in {results} begin with {plain(text)}; give more of it: {', '.join(fits[:3])}"
        )
    raise BadResults(f"{results} has no record {plain(text)!r}; {did_you_mean(text, known)}")
