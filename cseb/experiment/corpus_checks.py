"""Refuse a corpus that lacks what a method reads, before anything trains."""

from __future__ import annotations

import pkgutil
from collections.abc import Collection, Iterable
from pathlib import Path

import numpy as np

from cseb.data.corpus import Corpus
from cseb.data.finished_models import left_out
from cseb.data.provenance import GENERATED, NEEDED
from cseb.data.read_corpus import WIKIPEDIA
from cseb.data.remarks import remarks, vocabulary_remark
from cseb.errors import BadData
from cseb.methods.part_facts import facts
from cseb.methods.spec import Method
from cseb.text import quantity
from cseb.words import looks_english

SAMPLE = 1000  # lines whose language is looked at


def corpus_remarks(methods: Iterable[Method], corpus: Corpus) -> list[str]:
    """Return a line on blank and repeated sentences, and one on parts for English on text in another language."""
    lines = list(remarks(corpus))
    names = list(dict.fromkeys(name for method in methods if method.terms for name in method.english_parts()))
    if names and not looks_english(corpus.take(range(0, len(corpus), -(-len(corpus) // SAMPLE)))):
        lines.append(f"{corpus.name} is not English, and {', '.join(names)} is made for English; take another part")
    return lines


def encoder_remarks(methods: Collection[Method], folder: Path, corpus: Corpus) -> list[str]:
    """Return a line on what the methods do not use of a finished model, and one on a vocabulary that does not fit."""
    own_modules = {method.head.name for method in methods} == {"own_modules"}
    template = "".join(str(dict(method.pooler.options).get("template", "")) for method in methods)
    sample = corpus.take(range(0, len(corpus), -(-len(corpus) // SAMPLE)))
    return [line for line in (left_out(folder, own_modules, template), vocabulary_remark(folder, sample)) if line]


def check_corpus(label: str, method: Method, corpus: Corpus) -> None:
    """Refuse a corpus that lacks what a resolved method reads. Raises: BadData."""
    if method.terms:
        _check_columns(label, method, corpus)
        _check_provenance(label, method, corpus)


def _check_provenance(label: str, method: Method, corpus: Corpus) -> None:
    """Raise BadData if a generated corpus has no provenance; the corpora that come with cseb need none."""
    documented = corpus.provenance is not None or corpus.name.partition(":")[0] == WIKIPEDIA
    if GENERATED in method.data_seen() and not documented:
        raise BadData(
            f"{label} trains on sentences that a language model wrote, and nothing beside {corpus.name} says which; "
            f"put NAME.provenance.yaml beside NAME.jsonl, with {', '.join(NEEDED)}"
        )


def _check_columns(label: str, method: Method, corpus: Corpus) -> None:
    stated = facts(method.views.name)
    if corpus.roles:
        _check_roles(label, stated.roles, corpus)
    elif stated.columns and len(wrong := np.flatnonzero(~np.isin(corpus.columns(), stated.columns))):
        line = corpus[int(wrong[0])]
        raise BadData(
            f"{label} reads {' or '.join(map(str, stated.columns))} texts joined by TABs from a line of the corpus; "
            f"{len(wrong):,} of {quantity(len(corpus), 'line')} of {corpus.name} have another number, such as "
            f"{line if len(line) <= 60 else f'{line[:57]}...'!r}; take a corpus of {method.views.name}"
            + (f", or a table with `column` {_named(stated.roles)}" if stated.roles else "")
        )
    if stated.line_check:
        check_lines = pkgutil.resolve_name(stated.line_check)
        check_lines(read_by(method, corpus, range(len(corpus))), dict(method.views.options))


def _check_roles(label: str, roles: tuple[str, ...], corpus: Corpus) -> None:
    """Raise BadData if the corpus lacks a named column that the method reads."""
    if not set(roles) <= set(corpus.roles):
        raise BadData(
            f"{label} reads the columns {', '.join(roles)}; of {corpus.name} `column` names "
            f"{', '.join(corpus.roles)}; write `column` {_named(roles)}"
        )


def _named(roles: tuple[str, ...]) -> str:
    return ",".join(f"{role}=NAME" for role in roles)


def read_by(method: Method, corpus: Corpus, places: Iterable[int]) -> list[str]:
    """Return what a method reads of these lines of the corpus: by the names of columns, where they have names."""
    return corpus.texts(places, facts(method.views.name).roles)
