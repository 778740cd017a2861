"""Triples for supervised training, from the sentence pairs of an inference corpus such as SNLI or MultiNLI."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from cseb.data.corpus import listed
from cseb.data.files import write_whole, written
from cseb.data.tables import read_table
from cseb.errors import BadBenchmark, BadData
from cseb.progress import counted
from cseb.seeds import stream_seed

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
