"""What a method reads of a corpus, and whether it is there: said before anything trains."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from cseb.data.corpus import Corpus
from cseb.data.provenance import GENERATED, NEEDED
from cseb.data.read_corpus import EMBEDDED
from cseb.errors import BadData
from cseb.methods.part_facts import facts
from cseb.methods.spec import Method
from cseb.registry import SLOTS
from cseb.text import quantity


def check_corpus(method: Method, corpus: Corpus) -> None:
    """What a method reads from a line of the corpus must be there, and where a language model wrote it, who did.

    Raises: BadData.
    """
    if not method.terms:
        return
    _check_columns(method, corpus)
    _check_provenance(method, corpus)


def _check_provenance(method: Method, corpus: Corpus) -> None:
    """The corpora that come with cseb need none. Raises: BadData."""
    known = corpus.provenance is not None or corpus.name.partition(":")[0] in EMBEDDED
    if GENERATED in method.data_seen() and not known:
        raise BadData(
            f"{method} trains on sentences that a language model wrote, and nothing beside {corpus.name} says which; "
            f"put NAME.provenance.yaml beside NAME.jsonl, with {', '.join(NEEDED)}"
        )


def _check_columns(method: Method, corpus: Corpus) -> None:
    known = facts(method.views.name)
    reader = getattr(SLOTS["views"][method.views.name], "check_lines", None)
    if corpus.roles:
        _check_roles(method, known.roles, corpus)
    elif known.columns and len(wrong := np.flatnonzero(~np.isin(corpus.columns(), known.columns))):
        line = corpus[int(wrong[0])]
        raise BadData(
            f"{method} reads {' or '.join(map(str, known.columns))} texts joined by TABs from a line of the corpus; "
            f"{len(wrong):,} of {quantity(len(corpus), 'line')} of {corpus.name} have another number, such as "
            f"{line if len(line) <= 60 else f'{line[:57]}...'!r}; take a corpus of {method.views.name}"
        )
    if reader is not None:
        known.check(dict(method.views.options))  # `check_lines` reads them before the part is made, which checks them
        reader(read_by(method, corpus, range(len(corpus))), dict(method.views.options))


def _check_roles(method: Method, wanted: tuple[str, ...], corpus: Corpus) -> None:
    """Raises: BadData if the corpus lacks a named column that the method reads."""
    if not set(wanted) <= set(corpus.roles):
        named = ",".join(f"{role}=NAME" for role in wanted)
        raise BadData(
            f"{method} reads the columns {', '.join(wanted)}; of {corpus.name} `column` names "
            f"{', '.join(corpus.roles)}; write `column` {named}"
        )


def read_by(method: Method, corpus: Corpus, places: Iterable[int]) -> list[str]:
    """What a method reads of these lines of the corpus: by the names of columns, where they have names."""
    return corpus.texts(places, facts(method.views.name).roles)
