"""Prepare text for pre-training: a vocabulary and token ids, made once and read by every run.

python -m benchmarks.pretrain.text --sources-folder FOLDER --out runs/text
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from transformers import PreTrainedTokenizerFast

from benchmarks.pretrain.rows import TokenisedText
from benchmarks.pretrain.sources import HELD_OUT, LISTED, BadText, Document, described, in_one_line, read_documents
from benchmarks.pretrain.wordpiece import train_tokenizer

POSITIONS = 128  # longest text that an encoder takes, special tokens included
AT_ONCE = 20_000  # sentences tokenised per call
GENRE_POWER = 0.7  # genres are drawn in proportion to words ** 0.7: small genres more often, large ones less


def prepare(folder: Path, out: Path, pieces: int, listed: Path = LISTED, vocabulary: Path | None = None) -> None:
    """Write tokenizer, training text, held-out text and low-shot corpus.

    folder: of the files that `listed` names. pieces: size of the vocabulary. vocabulary: a folder with a tokenizer to
    use, for example a restart point; by default one is trained. Raises: BadText if a file is missing or has another
    hash, or the text is too short.
    """
    documents = list(read_documents(folder, listed))
    training = [document for document in documents if document.part == "train"]
    if vocabulary:
        tokenizer = PreTrainedTokenizerFast.from_pretrained(vocabulary)
    else:
        tokenizer = train_tokenizer((text for document in training for text in document.sentences), pieces, POSITIONS)
    out.mkdir(parents=True, exist_ok=True)
    tokenizer.save_pretrained(out / "tokenizer")
    genres = genre_words(training, listed)
    fractions = drawn_fractions(genres)
    weights = {genre: fractions[genre] / words for genre, words in genres.items()}
    genre_of = {name: genre_name(facts) for name, facts in described(listed).items()}
    for name, part in (("train", "train"), ("held-out", "held out")):
        chosen = [document for document in documents if document.part == part]
        if not chosen:
            raise BadText(f"{folder} has no {part} documents. Give a file of at least {HELD_OUT} documents.")
        drawn = np.array([weights.get(genre_of[document.source], 0.0) for document in chosen])
        tokenised(chosen, tokenizer, drawn).save(out / f"{name}.npz")
    corpus = [text for document in documents if document.part == "corpus" for text in document.sentences]
    (out / "corpus.txt").write_text("".join(f"{text}\n" for text in corpus), encoding="utf-8")
    facts = {
        "made_of": {
            "sources": sources_hash(listed),
            "vocabulary": vocabulary_hash(tokenizer),
        },
        "genres": fractions,
        "parts": counts(documents),
    }
    (out / "text.json").write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")  # last: marks completion


def load(prepared: Path) -> tuple[PreTrainedTokenizerFast, TokenisedText, TokenisedText, dict[str, Any]]:
    """Return tokenizer, training text, held-out text and the facts in `text.json`.

    Raises: BadText if the folder is not one that `prepare` completed.
    """
    if not (prepared / "text.json").is_file():
        raise BadText(f"{prepared} has no prepared text. Make it with python -m benchmarks.pretrain.text.")
    tokenizer = PreTrainedTokenizerFast.from_pretrained(prepared / "tokenizer")
    training, unseen = (TokenisedText.load(prepared / f"{name}.npz") for name in ("train", "held-out"))
    return tokenizer, training, unseen, json.loads((prepared / "text.json").read_text("utf-8"))


def sources_hash(listed: Path) -> str:
    """Return a hash of the facts of a list that determine the text."""
    facts = [
        [name, source["text"], genre_name(source), source["sha256"]]
        for name, source in described(listed).items()
        if source["used"]
    ]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


def vocabulary_hash(tokenizer: PreTrainedTokenizerFast) -> str:
    """Return a hash of the pieces and their ids."""
    return hashlib.sha256(json.dumps(sorted(tokenizer.get_vocab().items())).encode()).hexdigest()


def genre_name(facts: Mapping[str, object]) -> str:
    """Return the genre of a source."""
    return str(facts.get("genre", "general"))


def genre_words(documents: Iterable[Document], listed: Path) -> dict[str, int]:
    """Return the number of words of each genre."""
    genres = {name: genre_name(facts) for name, facts in described(listed).items()}
    words: Counter[str] = Counter()
    for document in documents:
        words[genres[document.source]] += sum(len(text.split()) for text in document.sentences)
    return dict(words)


def drawn_fractions(words: Mapping[str, int]) -> dict[str, float]:
    """Return the fraction of the drawn text that each genre gives."""
    powers = {genre: count**GENRE_POWER for genre, count in words.items()}
    return {genre: power / sum(powers.values()) for genre, power in powers.items()}


def tokenised(
    documents: Sequence[Document], tokenizer: PreTrainedTokenizerFast, weights: np.ndarray[Any, Any]
) -> TokenisedText:
    """Return every sentence as token ids, without special tokens.

    weights: (D,) how often each of D documents is drawn, in proportion.
    """
    starts, parts = [0], []
    for texts in _slices([text for document in documents for text in document.sentences]):
        rows = tokenizer(texts, add_special_tokens=False, return_attention_mask=False, verbose=False)["input_ids"]
        parts.append(np.concatenate([np.asarray(row, dtype=np.uint16) for row in rows]))
        starts += [len(row) for row in rows]
    counted = np.cumsum([0, *(len(document.sentences) for document in documents)])
    linked = np.array([document.linked for document in documents])
    return TokenisedText(np.concatenate(parts), np.cumsum(starts), counted, linked, weights)


def counts(documents: Iterable[Document]) -> dict[str, dict[str, dict[str, int]]]:
    """Return the number of documents, sentences and words of each part of each source."""
    totals: dict[str, dict[str, dict[str, int]]] = {}
    for document in documents:
        sources = totals.setdefault(document.part, {})
        cell = sources.setdefault(document.source, {"documents": 0, "sentences": 0, "words": 0})
        cell["documents"] += 1
        cell["sentences"] += len(document.sentences)
        cell["words"] += sum(len(text.split()) for text in document.sentences)
    return totals


def _slices(texts: list[str]) -> Iterable[list[str]]:
    for start, end in pairwise([*range(0, len(texts), AT_ONCE), len(texts)]):
        yield texts[start:end]


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sources-folder", type=Path, required=True, help="folder of the files in sources.yaml")
    parser.add_argument("--sources", type=Path, default=LISTED, help="list of sources (default: sources.yaml)")
    parser.add_argument("--out", type=Path, required=True, help="folder to write")
    parser.add_argument("--pieces", type=int, default=8192, help="size of the vocabulary, at most 65,536")
    parser.add_argument("--vocabulary", type=Path, help="use the tokenizer in this folder; train none")
    options = parser.parse_args()
    with in_one_line(BadText):
        prepare(options.sources_folder, options.out, options.pieces, options.sources, options.vocabulary)


if __name__ == "__main__":
    main()
