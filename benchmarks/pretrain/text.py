"""From files of text to a vocabulary and token ids, made once and kept in the folder of a run."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
from transformers import PreTrainedTokenizerFast

from benchmarks.pretrain.rows import TokenisedText
from benchmarks.pretrain.sources import LISTED, Document, read_documents
from benchmarks.pretrain.wordpiece import train_tokenizer

POSITIONS = 128  # the longest text that an encoder takes, special tokens included
AT_ONCE = 20_000  # sentences tokenised in one call


def prepare(
    folder: Path, out: Path, pieces: int, listed: Path = LISTED
) -> tuple[PreTrainedTokenizerFast, TokenisedText, TokenisedText]:
    """Tokenizer, training text and held-out text, from `out` if they are there, otherwise made from `folder`.

    Also writes the low-shot corpus, one sentence a line, as `out/corpus.txt`. Raises: BadText.
    """
    done = out / "text.json"  # written last
    made_of = {"pieces": pieces, "sources": hashlib.sha256(listed.read_bytes()).hexdigest()}
    if not done.is_file() or json.loads(done.read_text("utf-8"))["made_of"] != made_of:
        out.mkdir(parents=True, exist_ok=True)
        documents = list(read_documents(folder, listed))
        training = [one for one in documents if one.part == "train"]
        tokenizer = train_tokenizer((text for one in training for text in one.sentences), pieces, POSITIONS)
        tokenizer.save_pretrained(out / "tokenizer")
        tokenised(training, tokenizer).save(out / "train.npz")
        tokenised([one for one in documents if one.part == "held out"], tokenizer).save(out / "held-out.npz")
        corpus = [text for one in documents if one.part == "corpus" for text in one.sentences]
        (out / "corpus.txt").write_text("".join(f"{text}\n" for text in corpus), encoding="utf-8")
        done.write_text(json.dumps({"made_of": made_of, **counts(documents)}, indent=2) + "\n", encoding="utf-8")
    tokenizer = PreTrainedTokenizerFast.from_pretrained(out / "tokenizer")
    return tokenizer, TokenisedText.load(out / "train.npz"), TokenisedText.load(out / "held-out.npz")


def tokenised(documents: Sequence[Document], tokenizer: PreTrainedTokenizerFast) -> TokenisedText:
    """Every sentence as token ids, without special tokens."""
    starts, parts = [0], []
    for texts in _slices([text for one in documents for text in one.sentences]):
        rows = tokenizer(texts, add_special_tokens=False, return_attention_mask=False, verbose=False)["input_ids"]
        parts.append(np.concatenate([np.asarray(row, dtype=np.uint16) for row in rows]))
        starts += [len(row) for row in rows]
    counted = np.cumsum([0, *(len(one.sentences) for one in documents)])
    linked = np.array([one.linked for one in documents])
    return TokenisedText(np.concatenate(parts), np.cumsum(starts), counted, linked)


def counts(documents: Iterable[Document]) -> dict[str, dict[str, dict[str, int]]]:
    """Documents, sentences and words of each part of each source."""
    found: dict[str, dict[str, dict[str, int]]] = {}
    for one in documents:
        cell = found.setdefault(one.part, {}).setdefault(one.source, {"documents": 0, "sentences": 0, "words": 0})
        cell["documents"] += 1
        cell["sentences"] += len(one.sentences)
        cell["words"] += sum(len(text.split()) for text in one.sentences)
    return found


def _slices(texts: list[str]) -> Iterable[list[str]]:
    for start, end in pairwise([*range(0, len(texts), AT_ONCE), len(texts)]):
        yield texts[start:end]
