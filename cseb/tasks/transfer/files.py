"""Labelled sentences from files in SentEval's layout, in the order that determines folds and minibatches.

Source: Conneau & Kiela 2018, as the evaluation of Gao et al. 2021 reads them. Each part is sorted by the number of
tokens and the label, and no row is left out, empty and repeated ones included. Shortened copies of MR and SUBJ, which
have led to wrong numbers in published tables, are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cseb.data.manifest import DataFile, files_of
from cseb.errors import BadData
from cseb.tasks.senteval import cells, check, lines, normal


@dataclass(frozen=True, slots=True)
class Examples:
    """N examples of one sentence or two, and the class of each, counted from 0."""

    texts: tuple[tuple[str, ...], ...]
    labels: tuple[int, ...]


Row = tuple[tuple[str, ...], int]
Parts = tuple[Examples, ...]  # one for nested cross-validation; train and test; or train, dev and test


def _files(task: str, *names: str) -> tuple[DataFile, ...]:
    return tuple(files_of(task)[name] for name in names)


BINARY: Mapping[str, tuple[DataFile, ...]] = {  # the file of class 1, then that of class 0
    "mr": _files("mr", "MR/rt-polarity.pos", "MR/rt-polarity.neg"),
    "cr": _files("cr", "CR/custrev.pos", "CR/custrev.neg"),
    "subj": _files("subj", "SUBJ/subj.objective", "SUBJ/subj.subjective"),
    "mpqa": _files("mpqa", "MPQA/mpqa.pos", "MPQA/mpqa.neg"),
}
SST2 = _files("sst2", *(f"SST/binary/sentiment-{part}" for part in ("train", "dev", "test")))
TREC = _files("trec", "TREC/train_5500.label", "TREC/TREC_10.label")
MRPC = _files("mrpc", *(f"MRPC/msr_paraphrase_{part}.txt" for part in ("train", "test")))
QUESTIONS = ("ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM")  # coarse classes of TREC, in the order of their numbers


def read(name: str, root: Path) -> Parts:
    """Return the parts of a task. Raises: BadData."""
    if name in BINARY:
        positive, negative = BINARY[name]
        return (ordered([*_labelled_lines(root, positive, 1), *_labelled_lines(root, negative, 0)]),)
    files, reader = TABLES[name]
    return tuple(ordered(reader(root, file)) for file in files)


def _labelled_lines(root: Path, file: DataFile, label: int) -> list[Row]:
    return [((normal(line),), label) for line in _rows(root / file.file, file.rows, "latin-1")]


def _sst(root: Path, file: DataFile) -> list[Row]:
    path = root / file.file
    examples: list[Row] = []
    for number, line in enumerate(_rows(path, file.rows, "utf-8"), 1):
        sentence, label = cells(line.strip(), 2, path, number)
        examples.append(((normal(sentence),), _label(label, path, number)))
    return examples


def _trec(root: Path, file: DataFile) -> list[Row]:
    path = root / file.file
    examples: list[Row] = []
    for number, line in enumerate(_rows(path, file.rows, "latin-1"), 1):
        coarse, _, rest = line.strip().partition(":")
        if coarse not in QUESTIONS:
            raise BadData(f"{path}, line {number} begins with {coarse[:20]!r}, expected one of {', '.join(QUESTIONS)}")
        if "'" in line or "`" in line:
            raise BadData(
                f"{path}, line {number} has a quotation mark, which unmodified copies do not contain; use one"
            )
        examples.append(((normal(rest.partition(" ")[2]),), QUESTIONS.index(coarse)))
    return examples


def _mrpc(root: Path, file: DataFile) -> list[Row]:
    path = root / file.file
    examples: list[Row] = []
    for number, line in enumerate(_rows(path, file.rows, "utf-8", header=1), 2):
        label, _, _, left, right = cells(line.strip(), 5, path, number)  # quotation marks are text
        examples.append(((normal(left), normal(right)), _label(label, path, number)))
    return examples


TABLES: Mapping[str, tuple[Sequence[DataFile], Callable[[Path, DataFile], list[Row]]]] = {
    "sst2": (SST2, _sst),
    "trec": (TREC, _trec),
    "mrpc": (MRPC, _mrpc),
}
NAMES = (*BINARY, *TABLES)  # in the order of the papers' tables
CLASSES = {name: len(QUESTIONS) if name == "trec" else 2 for name in NAMES}


def _rows(path: Path, expected: int, encoding: str, header: int = 0) -> list[str]:
    rows = lines(path, encoding)[header:]
    check(path, len(rows), expected, "rows")
    return rows


def _label(cell: str, path: Path, number: int) -> int:
    if cell not in ("0", "1"):
        raise BadData(f"{path}, line {number} has the label {cell[:20]!r}, expected 0 or 1")
    return int(cell)


def ordered(rows: Sequence[Row]) -> Examples:
    """Return the rows sorted by number of tokens of each sentence, then label; others keep the order of the file."""
    placed = sorted(rows, key=lambda row: (*(len(text.split()) for text in row[0]), row[1]))
    texts, labels = zip(*placed, strict=True)
    return Examples(texts, labels)
