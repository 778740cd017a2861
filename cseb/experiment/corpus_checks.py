"""Does a corpus hold what a method learns from? Said before anything trains."""

from __future__ import annotations

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
    """Raises: BadData if a method that learns from pairs or triples has a corpus of something else."""
    allowed = facts(method.views.name).columns
    if not allowed:
        return
    columns = corpus.columns()
    reader = getattr(SLOTS["views"][method.views.name], "check_lines", None)
    if reader is not None and np.isin(columns, allowed).all():
        reader(list(corpus))
    wrong = np.flatnonzero(~np.isin(columns, allowed))
    if len(wrong):
        line = corpus[int(wrong[0])]
        raise BadData(
            f"{method} reads {' or '.join(map(str, allowed))} texts joined by TABs from a line of the corpus; "
            f"{len(wrong):,} of {quantity(len(corpus), 'line')} of {corpus.name} have another number, such as "
            f"{line if len(line) <= 60 else f'{line[:57]}...'!r}; take a corpus of {method.views.name}"
        )
