"""MR, CR, SUBJ, MPQA, SST2, TREC and MRPC in three protocols: that of the papers, the fast one, and a converged one.

Files are in SentEval's layout. Each part is sorted by the number of tokens and the label, which determines folds and
minibatches. No row is left out. Shortened copies of MR and SUBJ are refused.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cseb.data.manifest import DataFile, files_of
from cseb.errors import BadData
from cseb.tasks.influence import Labels, connected, mean_influence
from cseb.tasks.senteval import cells, check, data_root, lines, normal
from cseb.tasks.task import Embed, Influence, Items, Outcome, Vectors
from cseb.tasks.transfer.linear import Recipe
from cseb.tasks.transfer.schemes import FAST_RECIPE, LOGREG_RECIPE, TEST_RECIPE, fixed, folds, nested, on_train


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
SST2_FILES = _files("sst2", *(f"SST/binary/sentiment-{part}" for part in ("train", "dev", "test")))
TREC_FILES = _files("trec", "TREC/train_5500.label", "TREC/TREC_10.label")
MRPC_FILES = _files("mrpc", *(f"MRPC/msr_paraphrase_{part}.txt" for part in ("train", "test")))
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
    "sst2": (SST2_FILES, _sst),
    "trec": (TREC_FILES, _trec),
    "mrpc": (MRPC_FILES, _mrpc),
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


@dataclass(frozen=True, slots=True, eq=False)
class LabelledTexts:
    """The examples of a task in memory: one part (nested cross-validation), train and test, or train, dev and test.

    `items` (N, 2) are the predicted class of each scored example, by a classifier trained on other examples, and the
    dev accuracy of its regularisation; NaN if the embeddings are not finite. The score is the test accuracy with the
    protocol's rounding; `detail` contains `accuracy`, the dev accuracy `dev` and, for pairs, `f1` of class 1.
    """

    parts: Parts
    classes: int
    recipe: Recipe

    def sentences(self) -> list[str]:
        return [text for part in self.parts for texts in part.texts for text in texts]

    def sha256(self) -> str:
        rows = [
            "\t".join([str(place), str(label), *texts]) + "\n"
            for place, part in enumerate(self.parts)
            for texts, label in zip(part.texts, part.labels, strict=True)
        ]
        return hashlib.sha256("".join(rows).encode()).hexdigest()

    def items(self, embed: Embed) -> Items:
        features = features_of([texts for part in self.parts for texts in part.texts], embed)
        if not np.isfinite(features).all():
            return np.full((len(self.scored.labels), 2), np.nan, dtype=np.float32)
        labels = np.concatenate([part.labels for part in self.parts]).astype(np.int64)
        learner = self.recipe.learner(features, labels, self.classes)
        match [len(part.labels) for part in self.parts]:
            case [_]:
                guess = nested(learner, self.recipe, labels)
            case [train, _]:
                guess = on_train(learner, self.recipe, labels, train)
            case [train, dev, _]:
                guess = fixed(learner, self.recipe, labels, train, dev)
        return np.column_stack([guess.predicted, guess.dev]).astype(np.float32)

    def outcome(self, items: Items) -> Outcome:
        """Return accuracies, rounded to two decimals in each fold and in the mean, as in the protocol."""
        pairs = len(self.scored.texts[0]) == 2
        if not np.isfinite(items).all():
            return Outcome(None, dict.fromkeys(["accuracy", "dev", *(["f1"] if pairs else [])]))
        right, gold = self.right(items), np.asarray(self.scored.labels)
        tests = [test for _, test in folds(gold, self.recipe.folds)] if len(self.parts) == 1 else [np.arange(len(gold))]
        detail: dict[str, float | None] = {
            "accuracy": mean([round(100 * float(right[test].mean()), 2) for test in tests]),
            "dev": mean([round(float(items[test[0], 1]), 2) for test in tests]),
        }
        if pairs:
            predicted = items[:, 0] == 1
            hits = int((predicted & (gold == 1)).sum())
            detail["f1"] = round(100 * 2 * hits / max(int(predicted.sum() + (gold == 1).sum()), 1), 2)
        return Outcome(detail["accuracy"], detail)

    def influence(self, items: Items) -> Influence:
        """Return the influence of each example on the accuracy; folds have equal weights, their sizes differ by 1."""
        if not np.isfinite(items).all():
            return np.full(len(items), np.nan)
        return mean_influence(100 * self.right(items).astype(np.float64))

    def clusters(self) -> Labels:
        return connected(self.scored.texts)

    @property
    def scored(self) -> Examples:
        """Return the scored examples."""
        return self.parts[-1]

    def right(self, items: Items) -> Labels:
        """Return 1 where the predicted class is correct, else 0: (N,)."""
        right: Labels = (items[:, 0] == np.asarray(self.scored.labels)).astype(np.int64)
        return right


def features_of(texts: Sequence[tuple[str, ...]], embed: Embed) -> Vectors:
    """Return embeddings (N, D) of N sentences, or |u - v| and u * v side by side (N, 2 D) of N pairs u, v.

    Features are not centred, scaled or normalised.
    """
    sides = [embed(side) for side in zip(*texts, strict=True)]
    if len(sides) == 1:
        return sides[0]
    u, v = sides
    return np.concatenate([np.abs(u - v), u * v], axis=1)


def mean(points: Sequence[float]) -> float:
    """Return the mean, rounded by numpy as in the protocol; Python rounds some halves differently."""
    return float(np.round(np.mean(points), 2))


@dataclass(frozen=True, slots=True)
class Transfer:
    """Sentences with a class, read from a folder in SentEval's layout.

    Source: Conneau & Kiela 2018, table 1. senteval-transfer@1 has the settings behind the papers' tables (the `test`
    mode of Gao et al. 2021), senteval-fast@1 those of their `fasttest` mode. logreg@2 is our own: converged logistic
    regression, five folds; of C = 0.1, 1, 10 and 100 the one with the highest probability of the labels of one fifth of
    the training rows (SST2: of the dev set).
    """

    name: str
    data: str
    protocol: str
    recipe: Recipe
    version: int = 1

    def load(self, data_dir: Path | None) -> LabelledTexts:
        """Return the checked files; without `data_dir`, fetch them from the hub. Raises: BadData."""
        return LabelledTexts(read(self.data, data_root(data_dir)), CLASSES[self.data], self.recipe)


MR, CR, SUBJ, MPQA, SST2, TREC, MRPC = (Transfer(name, name, "senteval-transfer@1", TEST_RECIPE) for name in NAMES)
MR_FAST, CR_FAST, SUBJ_FAST, MPQA_FAST, SST2_FAST, TREC_FAST, MRPC_FAST = (
    Transfer(f"{name}-fast", name, "senteval-fast@1", FAST_RECIPE) for name in NAMES
)
MR_LOGREG, CR_LOGREG, SUBJ_LOGREG, MPQA_LOGREG, SST2_LOGREG, TREC_LOGREG, MRPC_LOGREG = (
    Transfer(f"{name}-logreg", name, "logreg@2", LOGREG_RECIPE) for name in NAMES
)
