"""Files made from sentences without labels: pairs for a person to rate, and a proxy task."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from cseb.data.files import write_whole
from cseb.data.subset import order
from cseb.errors import BadData, BadResults
from cseb.seeds import stream_seed
from cseb.tasks.task import Embed

MOST = 2000  # sentences that pairs and the proxy task are drawn from
LONG, FEWEST = 8, 50  # words of a sentence that can be shortened; how many of these the proxy task needs
REACH = (1, 20, MOST)  # how near the second sentence of a pair is: the nearest, one of the 20 nearest, any


def sampled(sentences: Sequence[str]) -> list[str]:
    """Return at most MOST distinct sentences, drawn by seed 0."""
    distinct = list(dict.fromkeys(" ".join(sentence.split()) for sentence in sentences))
    return [distinct[place] for place in order(len(distinct), 0)[:MOST]]


def pairs_to_rate(sentences: Sequence[str], count: int, embeds: Sequence[Embed]) -> list[tuple[str, str]]:
    """Return pairs of sentences from similar to unrelated, in random order; no sentence is in two pairs.

    Args:
        sentences: distinct sentences in random order.
        count: number of pairs.
        embeds: encoders that propose pairs in turn, so that the choice favours none of them.

    Raises:
        BadData: if there are too few sentences.
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
    """Write pairs with an empty column `score` for a spreadsheet. Raises: BadResults if the file exists."""
    if file.exists():
        raise BadResults(f"{file} exists and may contain ratings; rename it to write new pairs")
    _write(file, [("sentence1", "sentence2", "score"), *((*pair, "") for pair in pairs)])


def proxy(sentences: Sequence[str], folder: Path) -> str:
    """Write a task that needs no labels, every second word of a sentence retrieves the sentence, and return its file.

    Raises:
        BadData: if too few sentences are long enough.
    """
    shortened = {" ".join(sentence.split()[::2]): sentence for sentence in sentences if len(sentence.split()) >= LONG}
    if len(shortened) < FEWEST:
        raise BadData(
            f"only {len(shortened)} distinct sentences have {LONG} words or more, {FEWEST} are needed; give labelled "
            "examples with `eval`"
        )
    _write(folder / "shortened.csv", [("query", "document"), *shortened.items()])
    return str(folder / "shortened.csv")


def _write(file: Path, rows: Sequence[Sequence[str]]) -> None:
    """Write a CSV file with the mark by which Excel knows UTF-8. Raises: BadResults."""
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    try:
        file.parent.mkdir(exist_ok=True)
        write_whole(file, [text.getvalue().encode("utf-8-sig")])
    except OSError as error:
        raise BadResults(f"{file} cannot be written: {error.strerror or error}; choose another folder") from error
