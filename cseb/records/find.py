"""Find a record by its key, the beginning of its key, or its file."""

from __future__ import annotations

from pathlib import Path

from cseb.errors import BadResults, did_you_mean
from cseb.records.record import Record
from cseb.records.store import Store
from cseb.text import plain


def find(text: str, results: Path) -> tuple[Store, Record]:
    """Return the folder and the record that `text` names. Raises: BadResults if it names none or several."""
    if text.endswith(".json"):
        path = Path(text)
        if not path.is_file():
            raise BadResults(f"{plain(text)}: no such record")
        store = Store(path.parent.parent)
        return store, store.read(path.stem)
    store = Store(results)
    keys = store.keys()
    matches = sorted(key for key in keys if key.startswith(text))
    if len(matches) == 1:
        return store, store.read(matches[0])
    if matches:
        raise BadResults(
            f"{len(matches)} keys in {results} begin with {plain(text)}; give more of it: {', '.join(matches[:3])}"
        )
    raise BadResults(f"{results} has no record {plain(text)!r}; {did_you_mean(text, keys)}")
