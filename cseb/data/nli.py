"""Triples for supervised training, from the sentence pairs of an inference corpus such as SNLI or MultiNLI."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from cseb.data.bounded import read_lines
from cseb.data.tables import read_table
from cseb.errors import BadData
from cseb.seeds import stream_seed

ENTAILMENT, CONTRADICTION = "entailment", "contradiction"
LABELS = (ENTAILMENT, CONTRADICTION, "neutral", "-")  # "-": the annotators did not agree

COLUMNS = ("gold_label", "sentence1", "sentence2")

Row = tuple[str, str, str]  # label, premise, hypothesis


def read_nli(folder: Path, split: str) -> Iterator[Row]:
    """Rows of `labels.<split>`, `s1.<split>` and `s2.<split>`, one item a line, UTF-8. Raises: BadData."""
    names = [folder / f"{kind}.{split}" for kind in ("labels", "s1", "s2")]
    columns = [_lines(name) for name in names]
    counts = list(map(len, columns))
    if len(set(counts)) > 1:
        shown = ", ".join(f"{name.name} {count}" for name, count in zip(names, counts, strict=True))
        raise BadData(f"{folder}: files of one split must have as many lines as each other; found {shown}")
    for number, row in enumerate(zip(*columns, strict=True), 1):
        if row[0] not in LABELS:
            raise BadData(f"{names[0]} line {number} is {row[0]!r}; allowed: {', '.join(LABELS)}")
        yield row


def read_nli_table(path: Path) -> Iterator[Row]:
    """Rows of a file as SNLI and MultiNLI publish them (.jsonl, .tsv, .csv, also .gz). Raises: BadData."""
    table = read_table(path)
    if missing := [name for name in COLUMNS if name not in table.columns]:
        found = ", ".join(repr(name[:40]) for name in table.columns[:20]) or "none"
        raise BadData(
            f"{path} has no column {missing[0]!r}; sentence pairs as SNLI and MultiNLI publish them have "
            f"{', '.join(COLUMNS)}; found: {found}"
        )
    for line, row in zip(table.lines, zip(*map(table.column, COLUMNS), strict=True), strict=True):
        label, premise, hypothesis = row
        if label not in LABELS:
            raise BadData(f"{path}, line {line}: gold_label is {str(label)[:40]!r}; allowed: {', '.join(LABELS)}")
        if not (isinstance(premise, str) and isinstance(hypothesis, str)):
            raise BadData(f"{path}, line {line}: sentence1 and sentence2 must be text")
        yield str(label), premise, hypothesis


def nli_triples(rows: Iterable[Row], seed: int) -> list[str]:
    """Lines "premise TAB entailed TAB contradicting", one for every premise that has both, in order of appearance.

    Where a premise has several of a kind the seed chooses one, whatever other premises there are. Runs of white space
    become one blank. Source: Gao et al. 2021, table 4; which one they took is not documented.
    """
    found: dict[str, dict[str, list[str]]] = {}
    for label, premise, hypothesis in rows:
        kinds = found.setdefault(" ".join(premise.split()), {ENTAILMENT: [], CONTRADICTION: []})
        if label in kinds and hypothesis.strip():
            kinds[label].append(" ".join(hypothesis.split()))
    return [
        "\t".join([premise, *(_chosen(seed, premise, label, kinds[label]) for label in (ENTAILMENT, CONTRADICTION))])
        for premise, kinds in found.items()
        if premise and all(kinds.values())
    ]


def _chosen(seed: int, premise: str, label: str, hypotheses: list[str]) -> str:
    return hypotheses[stream_seed(seed, f"nli/{label}/{premise}") % len(hypotheses)]


def _lines(file: Path) -> list[str]:
    found = read_lines(file)
    return found if found[-1] or len(found) == 1 else found[:-1]
