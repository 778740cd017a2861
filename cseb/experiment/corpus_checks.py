"""Refuse a corpus that lacks what a method reads, and remark on its faults, before anything trains."""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from cseb.data.checkpoint import stamps
from cseb.data.corpus import WIKIPEDIA, Corpus
from cseb.data.finished_models import left_out
from cseb.data.provenance import GENERATED, NEEDED
from cseb.errors import BadData
from cseb.methods.part_facts import facts
from cseb.methods.spec import Method
from cseb.text import percent, quantity, shortened
from cseb.words import folded_words, looks_english, split_words

MARKUP = re.compile(r"&(?:[A-Za-z]{2,8}|#[0-9]{1,7}|#x[0-9A-Fa-f]{1,6});|</?[A-Za-z][A-Za-z0-9]*(?:\s[^<>]*)?/?>")
LONG = 500  # words of a line that is no sentence
EXAMINED = 200_000  # sentences that are examined; more take too long before every run
CURE = "remove duplicates or add +recipe(batch=no_duplicates), since a contrastive loss takes copies for negatives"
CUT = 0.25  # of the texts
SAMPLE = 1000  # texts whose vocabulary or language is examined
FEWEST = 20  # words in the sample
USUAL = 2.0  # tokens per word; English text has 1.2 to 1.6 with an English vocabulary
UNKNOWN = 0.01  # of all tokens
UNKNOWN_TOKENS = ("[UNK]", "<unk>")
FITTING = "take an encoder of their language, or a multilingual one such as xlm-roberta-base"


def repeats(sentences: Sequence[str] | Corpus) -> int:
    """Return how many sentences are copies of an earlier one."""
    return len(sentences) - len(set(map(hash, sentences)))  # 64 bits take a fifth of the memory of the text


def remarks(corpus: Corpus) -> Iterator[str]:
    """Yield one line for each kind of fault in a corpus, with its number of sentences and the cure."""
    if corpus.blank:
        yield f"{corpus.name}: {quantity(corpus.blank, 'blank line')} left out"
    total = f"{corpus.name}: {{:,}} of {quantity(len(corpus), 'sentence')}"
    if copies := repeats(corpus):
        yield f"{total.format(copies)} repeat an earlier one; {CURE}"
    distinct = list(dict.fromkeys(islice(corpus, EXAMINED)))
    folded = [hash(letters) for sentence in distinct if (letters := "".join(folded_words(sentence)))]
    if similar := len(folded) - len(set(folded)):
        yield f"{total.format(similar)} differ from an earlier one only in case, punctuation or spelling; {CURE}"
    if marked := [match[0] for sentence in distinct if (match := MARKUP.search(sentence))]:
        yield (
            f"{total.format(len(marked))} contain HTML, such as {shortened(marked[0], 40)!r}; replace entities with "
            "Python's html.unescape and remove tags"
        )
    lengths = [len(sentence.split()) for sentence in distinct if len(sentence) > LONG]
    if long := [length for length in lengths if length > LONG]:
        yield (
            f"{total.format(len(long))} have more than {LONG} words, up to {max(long):,}; put one sentence on each "
            "line, since the rest of a line beyond the encoder's maximum length is cut off"
        )


def vocabulary_remark(folder: Path, texts: Sequence[str]) -> str:
    """Return a sentence if an encoder's vocabulary does not fit the texts, otherwise "".

    A vocabulary does not fit if many tokens are unknown, or words are split into many tokens. An encoder without
    `tokenizer.json` is not checked.
    """
    sample = [texts[row] for row in range(0, len(texts), max(len(texts) // SAMPLE, 1))]
    words = [word for text in sample for word in split_words(text)]
    if len(words) < FEWEST or not (folder / "tokenizer.json").is_file():
        return ""
    try:
        tokenizer = _tokenizer(folder, stamps(folder))
    except Exception:  # the parser raises nothing more special; the check of the encoder names the fault
        return ""
    encodings = tokenizer.encode_batch([text.replace("\t", " ") for text in sample], add_special_tokens=False)
    tokens = [token for encoding in encodings for token in encoding.tokens]
    unknown = sum(token in UNKNOWN_TOKENS for token in tokens) / max(len(tokens), 1)
    start = "the encoder's vocabulary does not fit the texts:"
    if unknown > UNKNOWN:
        return f"{start} {100 * unknown:.1f} % of the tokens are unknown; {FITTING}"
    if len(tokens) > USUAL * len(words):
        return f"{start} {len(tokens) / len(words):.1f} tokens per word, where 1.2 to 1.6 are usual; {FITTING}"
    return ""


@lru_cache(maxsize=2)
def _tokenizer(folder: Path, _stamps: object) -> Tokenizer:
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def corpus_remarks(methods: Iterable[Method], corpus: Corpus) -> list[str]:
    """Return lines on blank, repeated and cut sentences, and one on parts for English on text in another language."""
    methods = list(methods)
    sample = corpus.take(range(0, len(corpus), -(-len(corpus) // SAMPLE)))
    lines = [*remarks(corpus), *filter(None, [length_remark(methods, sample)])]
    names = list(dict.fromkeys(name for method in methods if method.terms for name in method.english_parts()))
    if names and not looks_english(sample):
        lines.append(f"{corpus.name} is not English, and {', '.join(names)} is made for English; take another part")
    return lines


def length_remark(methods: Iterable[Method], texts: Sequence[str]) -> str:
    """Return a sentence if training cuts many texts, which have more words than it reads tokens; otherwise ""."""
    lengths: Any = [dict(method.recipe.options)["max_length"] for method in methods if method.terms]
    read = min(lengths, default=0)
    long = sum(max(len(part.split()) for part in text.split("\t")) > read for text in texts)
    if not read or long < CUT * len(texts):
        return ""
    return (
        f"{percent(long / len(texts))} of the sentences have more than {read} words, and training reads {read} tokens "
        "of each; to read more, add such as +recipe(max_length=128)"
    )


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
