"""Pairs of sentences for a person to rate."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from cseb.data.files import write_whole, written
from cseb.data.subset import order
from cseb.errors import BadData, BadResults
from cseb.seeds import stream_seed
from cseb.tasks.task import Embed

MOST = 2000  # sentences that pairs are drawn from
REACH = (1, 20, MOST)  # the second sentence of a pair is the nearest, one of the 20 nearest, or any


def sampled(sentences: Sequence[str]) -> list[str]:
    """Return at most MOST distinct sentences, drawn by seed 0."""
    distinct = list(dict.fromkeys(" ".join(sentence.split()) for sentence in sentences))
    return [distinct[place] for place in order(len(distinct), 0)[:MOST]]


def pairs_to_rate(sentences: Sequence[str], count: int, embeds: Sequence[Embed]) -> list[tuple[str, str]]:
    """Return pairs of distinct sentences from similar to unrelated, in random order; no sentence is in two pairs.

    The encoders propose pairs in turn, so that the choice favours none of them. Raises: BadData.
    """
    if len(sentences) < 2 * count:
        raise BadData(
            f"{count} pairs need {2 * count} distinct sentences; the corpus has {len(sentences)}. Ask for fewer"
        )
    tables = [embed(sentences) for embed in embeds]
    tables = [table / np.maximum(np.linalg.norm(table, axis=1, keepdims=True), 1e-12) for table in tables]
    rng = np.random.Generator(np.random.PCG64(stream_seed(0, "pairs to rate")))
    free, pairs = list(range(len(sentences))), []
    for number in range(count):
        first, table = free.pop(0), tables[number % len(tables)]
        nearest = np.argsort(-(table[free] @ table[first]), kind="stable")
        reach = min(REACH[number // len(tables) % len(REACH)], len(free))
        second = free.pop(int(nearest[rng.integers(reach)]))
        pairs.append((sentences[first], sentences[second]))
    return [pairs[place] for place in order(count, 0)]


def write_pairs(file: Path, pairs: Sequence[tuple[str, str]]) -> None:
    """Write pairs as CSV, with an empty column `score` and the mark by which Excel knows UTF-8. Raises: BadResults."""
    if file.exists():
        raise BadResults(f"{file} exists and may contain ratings; rename it to write new pairs")
    text = io.StringIO()
    csv.writer(text).writerows([("sentence1", "sentence2", "score"), *((*pair, "") for pair in pairs)])
    with written(file):
        write_whole(file, [text.getvalue().encode("utf-8-sig")])
