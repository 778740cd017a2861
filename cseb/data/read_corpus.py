"""Read any corpus that a user names."""

from __future__ import annotations

from pathlib import Path

from cseb.data.corpus import Corpus, pack
from cseb.data.hub import hub_rows
from cseb.data.readers import file_rows


def read_corpus(ref: str, column: str = "") -> Corpus:
    """The corpus that `ref` names: a file, `hub:...` (see `hub_rows`) or `microworld[:COUNT[:SEED]]`.

    White space around a sentence is dropped, and so are blank lines. column: which one of a table holds the text; ""
    stands for `text`, `sentence` or the only one.

    Raises: BadData, one line that says what was found and what to try.
    """
    kind, _, place = ref.partition(":")
    if kind == "microworld":
        from cseb.data.generated import microworld  # not needed for text of one's own

        return microworld(ref)
    return pack(ref, hub_rows(place, column) if kind == "hub" else file_rows(Path(ref), column))
