"""Judges: tasks that say which of two encoders is better for a user's sentences.

A judge is one or more ordinary tasks, in two parts that share no item: one part chooses during the race, the other one
decides afterwards, because items that have chosen a winner flatter it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cseb.advice.hold_out import write
from cseb.data.subset import order
from cseb.data.tables import read_table
from cseb.errors import BadBenchmark, BadData
from cseb.methods.spec import Method
from cseb.registry import TASKS, scale_of
from cseb.seeds import stream_seed
from cseb.tasks import own
from cseb.tasks.names import parse_names, parse_tasks
from cseb.tasks.pairs import RatedPairs
from cseb.tasks.task import Embed
from cseb.text import quantity

CHOOSE = 1 / 3  # of the items, for the race: a rough order is enough there, and what decides needs the rest
FEWEST_PAIRS = 20  # rated pairs: the standard error of a correlation over fewer is above a quarter
FEWEST_HELD = 50  # held-out sentences that a judge without labels needs
LONG = 8  # words of a sentence that is long enough to be cut in two
# Parts that train for what a judge asks: the sentence that a piece is of, or a teacher's opinion. A loss is no judge.
PIECES = frozenset(
    ("crop", "delete", "token_edits", "halves", "unit_halves", "compose", "char_span_mask", "span_masks", "denoise")
)
TRAINED_FOR = {"crops": PIECES, "edits": PIECES, "teacher": frozenset(("outside_teacher",))}
MOST_TEXTS = 9000  # held-out sentences that a teacher pairs
PAIRS, RETRIEVAL = ("sentence1", "sentence2", "score"), ("query", "document")


@dataclass(frozen=True, slots=True)
class Judge:
    """What decides. choose, decide: tasks as typed, of the race and of the estimate after it.

    name: as `trust` knows it, "" for human labels, which need no trust. by: how the verdict puts it.
    """

    choose: str
    decide: str
    by: str
    name: str = ""

    @property
    def tasks(self) -> str:
        """All of them, as typed: every run is scored on both parts, so that all records are alike."""
        return self.choose if self.choose == self.decide else f"{self.choose},{self.decide}"

    @property
    def same_items(self) -> bool:
        """Whether what decides was seen by the race."""
        return self.choose == self.decide


def rated(word: str, folder: Path) -> Judge:
    """The user's own file; rated pairs are split, so that no sentence is in both parts. Raises: BadData, BadSpec."""
    task = own.task_file(word)
    if task.kind == "pairs" and (count := len(read_table(task.path).rows)) + 1 < FEWEST_PAIRS:  # without a header
        raise _too_few_pairs(word, count)  # before a single pair is said to have no spread
    loaded = task.load(None)
    if not isinstance(loaded, RatedPairs):
        return Judge(word, word, f"{task.name} ({task.protocol})")
    [pairs] = loaded.subsets
    rows = list(zip(pairs.left, pairs.right, pairs.gold, strict=True))
    if len(rows) < FEWEST_PAIRS:
        raise _too_few_pairs(word, len(rows))
    choose, decide = _split(rows, loaded.clusters())
    for part in (choose, decide):
        if len({gold for *_, gold in part}) < 2:
            raise BadData(f"{word} rates (nearly) every pair alike; pairs of different ratings are needed")
    return _judge(folder, "rated", PAIRS, choose, decide, f"agreement with {quantity(len(rows), 'rated pair')}")


def _too_few_pairs(word: str, count: int) -> BadData:
    return BadData(
        f"{word} has {quantity(count, 'rated pair')}; {FEWEST_PAIRS} or more are needed to tell encoders apart: rate "
        "more, or have pairs of your corpus shown with --ask 60"
    )


def named(text: str) -> Judge:
    """Tasks by name; the race is judged by their development sets where they all have one. Raises: CsebError."""
    tasks = parse_tasks(text)
    if scaled := [task.name for task in tasks if scale_of(task.protocol)]:
        raise BadBenchmark(f"{scaled[0]} is {scale_of(TASKS[scaled[0]].protocol)}; a judge is in points, such as stsb")
    if len(measured := dict.fromkeys(task.protocol for task in tasks)) > 1:
        raise BadBenchmark(
            f"--tasks {text} are measured in different ways ({', '.join(measured)}), which no average mixes; "
            "name tasks of one protocol"
        )
    names = parse_names(text)
    held = [f"{name}-dev" for name in names]
    choose = ",".join(held) if all(name in TASKS for name in held) else text
    return Judge(choose, text, ", ".join(task.name for task in tasks))


def crops(sentences: Sequence[str], folder: Path) -> Judge:
    """Without labels: the first part of a held-out sentence has to find the second one among all. Raises: BadData."""
    rng = np.random.Generator(np.random.PCG64(stream_seed(0, "judge/crops")))
    rows = []
    for words in map(str.split, sentences):
        if len(words) >= LONG:
            cut = int(rng.integers(len(words) // 3, len(words) - len(words) // 3 + 1))
            rows.append((" ".join(words[:cut]), " ".join(words[cut:])))
    return _without_labels("crops", rows, folder, "finding the other half of a sentence", "retrieval", sentences)


def edits(sentences: Sequence[str], folder: Path) -> Judge:
    """Without labels: a held-out sentence that lost half of its words has to find the whole. Raises: BadData."""
    rng = np.random.Generator(np.random.PCG64(stream_seed(0, "judge/edits")))
    rows = []
    for words in map(str.split, sentences):
        if len(words) >= LONG:
            kept = np.sort(rng.permutation(len(words))[: len(words) // 2])
            rows.append((" ".join(words[place] for place in kept), " ".join(words)))
    return _without_labels("edits", rows, folder, "finding a sentence by half of its words", "retrieval", sentences)


# Judges that need nothing but sentences, by the name that `trust` has them under.
LABEL_FREE: dict[str, Callable[[Sequence[str], Path], Judge]] = {"crops": crops, "edits": edits}


def trained_for(judge: str, method: Method) -> str:
    """The part of a method that trains on what the judge of this name asks, "" if it has none."""
    return next((part.name for part in method.parts() if part.name in TRAINED_FOR.get(judge, ())), "")


def teacher(name: str, embed: Embed, sentences: Sequence[str], folder: Path) -> Judge:
    """Agreement with a teacher: a held-out sentence has to find the neighbour it has there. Raises: BadData.

    The neighbour is the nearest of the sentences that are left, so that none is in two pairs. Rank correlation with the
    teacher's cosines would be nearer at hand and orders methods far less as people do (results/judges).
    """
    if len(sentences) < FEWEST_HELD:
        raise too_few(sentences)
    texts = list(sentences[:MOST_TEXTS])
    vectors = embed(texts).astype(np.float64)
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    free = dict.fromkeys(order(len(texts), 1).tolist())
    rows = []
    for one in list(free):
        if one not in free or len(free) < 2:
            continue
        del free[one]
        others = np.fromiter(free, dtype=np.int64)
        near = int(others[np.argmax(vectors[others] @ vectors[one])])
        del free[near]
        rows.append((texts[one], texts[near]))
    choose, decide = _split(rows, np.arange(len(rows)))
    by = f"finding the neighbour that {name} gives a held-out sentence"
    return _judge(folder, "teacher", RETRIEVAL, choose, decide, by, "teacher", "retrieval")


def _without_labels(
    name: str, rows: Sequence[tuple[str, str]], folder: Path, by: str, kind: str, sentences: Sequence[str]
) -> Judge:
    if len(rows) < FEWEST_HELD:
        raise too_few(sentences)
    choose, decide = _split(rows, np.arange(len(rows)))
    return _judge(folder, name, RETRIEVAL, choose, decide, f"{by}, on held-out sentences", name, kind)


def too_few(sentences: Sequence[str]) -> BadData:
    """What is said where too few sentences are held out."""
    return BadData(
        f"{quantity(len(sentences), 'sentence')} held out of the corpus are too few to judge by, or too short; "
        f"{FEWEST_HELD} of {LONG} words or more are needed: give rated pairs with --judge FILE or tasks with --tasks"
    )


def _split(rows: Sequence[tuple[object, ...]], clusters: np.ndarray) -> tuple[list, list]:  # type: ignore[type-arg]
    """A third of the rows and the rest, by seed; rows of one cluster stay together."""
    labels = order(int(clusters.max()) + 1, 0).tolist()
    sizes = np.bincount(clusters)
    chosen: set[int] = set()
    count = 0
    for label in labels:
        if count + sizes[label] <= max(2, CHOOSE * len(rows)):
            chosen.add(label)
            count += int(sizes[label])
    parts: tuple[list[tuple[object, ...]], list[tuple[object, ...]]] = ([], [])
    for row, label in zip(rows, clusters.tolist(), strict=True):
        parts[label not in chosen].append(row)
    return parts


def _judge(
    folder: Path,
    name: str,
    header: Sequence[str],
    choose: Iterable[tuple[object, ...]],
    decide: Iterable[tuple[object, ...]],
    by: str,
    known: str = "",
    kind: str = "",
) -> Judge:
    """Both parts as files of tasks, which `cseb eval` and `cseb verify` read like any other."""
    words = []
    for part, rows in (("choose", choose), ("decide", decide)):
        path = folder / f"{name}-{part}.tsv"
        write(path, "".join("\t".join(map(str, row)) + "\n" for row in (tuple(header), *rows)))
        words.append(f"{path}:{kind}" if kind else str(path))
    return Judge(words[0], words[1], by, known)
