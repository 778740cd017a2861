"""Lines of a corpus that contain several texts or a document: split, checked and made, without torch.

A view maker names its check by `line_check`; it is made while a grid is planned.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from cseb.data.corpus import listed
from cseb.data.files import write_whole, written
from cseb.data.tables import number, read_table
from cseb.errors import BadBenchmark, BadData
from cseb.progress import counted
from cseb.seeds import stream_seed
from cseb.text import quantity, shortened
from cseb.words import split_words, without_spaces


def columns(lines: Sequence[str], allowed: Sequence[int], needed: str) -> list[list[str]]:
    """Return the columns of lines that are joined by TABs.

    allowed: how many columns a line may have; the fewest are returned. needed: what the lines should be, for messages.
    Raises: BadData for a line with another number of columns, or an empty one.
    """
    rows = [[text.strip() for text in line.split("\t")] for line in lines]
    wrong = [line for line, row in zip(lines, rows, strict=True) if len(row) not in allowed or not all(row)]
    if wrong:
        raise BadData(
            f"lines that are not {needed}: {len(wrong)} of {len(lines)}, such as {shortened(wrong[0], 60)!r}; take "
            "another corpus"
        )
    return [list(column) for column in zip(*(row[: min(allowed)] for row in rows), strict=True)]


def rated_pairs(lines: Sequence[str]) -> tuple[list[str], list[str], list[float]]:
    """Return left texts, right texts and ratings, which may have a decimal comma. Raises: BadData."""
    left, right, scores = columns(lines, (3,), "rated pairs (left TAB right TAB score)")
    return left, right, [_rating(score, line) for score, line in zip(scores, lines, strict=True)]


def check_ratings(lines: Sequence[str], options: Mapping[str, object]) -> None:
    """Raise BadData if a line is no rated pair."""
    rated_pairs(lines)


def labelled(lines: Sequence[str]) -> tuple[list[str], npt.NDArray[np.int64]]:
    """Return the texts of labelled lines, and numbers (N,) of their classes. Raises: BadData for less than two."""
    texts, labels = columns(lines, (2,), "labelled sentences (text TAB label)")
    classes, numbers = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        raise BadData(f"all {len(lines):,} sentences have the label {labels[0][:40]!r}; two classes are needed")
    return texts, numbers


def check_labels(lines: Sequence[str], options: Mapping[str, object]) -> None:
    """Raise BadData if a line is no labelled sentence, or all have one label."""
    labelled(lines)


def check_documents(lines: Sequence[str], options: Mapping[str, object]) -> None:
    """Raise BadData if a line is too short for the spans that are drawn from it."""
    anchors, shortest = options["anchors"], options["shortest"]
    assert isinstance(anchors, int) and isinstance(shortest, int)
    needed = 2 * anchors * shortest
    if short := sum(len(_words(line, needed)) < needed for line in lines):
        raise BadData(
            f"spans are drawn from documents, one a line; {short:,} of {quantity(len(lines), 'line')} have fewer "
            f"than {needed} words (2 x {anchors} anchors x {shortest} tokens); take longer texts, a smaller "
            "+spans(shortest=...), or declutr-sentence for sentences"
        )


def _words(line: str, most: int) -> list[str]:
    """Return the words of a line; between spaces only the first `most` and the rest."""
    return split_words(line) if without_spaces(line) else line.split(maxsplit=most)


def _rating(score: str, line: str) -> float:
    if (value := number(score)) is None:
        raise BadData(
            f"a rated pair ends in {score[:30]!r}, which is no number of at most a million: "
            f"{shortened(line, 60)!r}; take a corpus of rated pairs"
        )
    return value


ITERATIONS = 20  # pairs of one class, and of two, for each example: R of the paper, num_iterations of setfit


@dataclass(frozen=True, slots=True, eq=False)
class ClassPairs:
    """Pairs of sentences of one class or of two, on which an encoder is fine-tuned.

    texts: the sentences. left, right: (P,), rows of `texts`. same: (P,), 1 for two sentences of one class, else 0.
    """

    texts: Sequence[str]
    left: npt.NDArray[np.int64]
    right: npt.NDArray[np.int64]
    same: npt.NDArray[np.float32]


def class_pairs(
    texts: Sequence[str],
    labels: npt.NDArray[np.int64],
    rng: np.random.Generator,
    iterations: int = ITERATIONS,
    most: int = 0,
) -> ClassPairs:
    """Return N x iterations pairs of one class and as many of two, shuffled, for N texts of two classes or more.

    No pair is drawn twice before each has been drawn. A text with itself is a pair too. most: number of pairs; 0 for
    all. Source: setfit 1.2, ContrastiveDataset.
    """
    pairs = rng.permutation(np.stack(np.triu_indices(len(labels)), axis=1))
    same = labels[pairs[:, 0]] == labels[pairs[:, 1]]
    drawn = np.concatenate([np.resize(side, (len(labels) * iterations, 2)) for side in (pairs[same], pairs[~same])])
    left, right = rng.permutation(drawn)[: most or None].T
    return ClassPairs(texts, left, right, (labels[left] == labels[right]).astype(np.float32))


ENTAILMENT, CONTRADICTION = "entailment", "contradiction"
LABELS = (ENTAILMENT, CONTRADICTION, "neutral", "-")  # "-": the annotators did not agree

COLUMNS = ("gold_label", "sentence1", "sentence2")

Row = tuple[str, str, str]  # label, premise, hypothesis


def read_nli(path: Path) -> Iterator[Row]:
    """Yield the rows of a file as SNLI and MultiNLI publish them (.jsonl, .tsv, .csv, also .gz). Raises: BadData."""
    table = read_table(path)
    if missing := [name for name in COLUMNS if name not in table.columns]:
        raise BadData(
            f"{path} has no column {missing[0]!r}; sentence pairs as SNLI and MultiNLI publish them have "
            f"{', '.join(COLUMNS)}; found: {listed(table.columns)}"
        )
    for line, row in zip(table.lines, zip(*map(table.column, COLUMNS), strict=True), strict=True):
        label, premise, hypothesis = row
        if label not in LABELS:
            raise BadData(f"{path}, line {line}: gold_label is {str(label)[:40]!r}; allowed: {', '.join(LABELS)}")
        if not (isinstance(premise, str) and isinstance(hypothesis, str)):
            raise BadData(f"{path}, line {line}: sentence1 and sentence2 must be text")
        yield str(label), premise, hypothesis


def nli_triples(rows: Iterable[Row], seed: int) -> list[str]:
    """Return a line "premise TAB entailed TAB contradicting" for every premise that has both, in order of appearance.

    The seed chooses among several hypotheses of a kind, independently of other premises. Runs of white space become
    one blank. Source: Gao et al. 2021, table 4; which one they took is not documented.
    """
    by_premise: dict[str, dict[str, list[str]]] = {}
    for label, premise, hypothesis in rows:
        kinds = by_premise.setdefault(" ".join(premise.split()), {ENTAILMENT: [], CONTRADICTION: []})
        if label in kinds and hypothesis.strip():
            kinds[label].append(" ".join(hypothesis.split()))
    return [
        "\t".join([premise, *(_chosen(seed, premise, label, kinds[label]) for label in (ENTAILMENT, CONTRADICTION))])
        for premise, kinds in by_premise.items()
        if premise and all(kinds.values())
    ]


def write_triples(pairs: Sequence[Path], out: Path, seed: int) -> int:
    """Write the triples of these files as a corpus; return how many there are. Raises: BadBenchmark, BadData."""
    if any(out.exists() and path.exists() and out.samefile(path) for path in pairs):
        raise BadBenchmark(f"{out} is a file to read, which the triples would replace; give `out` another name")
    rows = (row for path in pairs for row in read_nli(path))
    lines = nli_triples(counted(rows, "reading sentence pairs"), seed)
    if not lines:
        raise BadData(f"{', '.join(map(str, pairs))}: no premise has both an entailment and a contradiction")
    with written(out):
        write_whole(out, (f"{line}\n".encode() for line in lines))
    return len(lines)


def _chosen(seed: int, premise: str, label: str, hypotheses: list[str]) -> str:
    return hypotheses[stream_seed(seed, f"nli/{label}/{premise}") % len(hypotheses)]
