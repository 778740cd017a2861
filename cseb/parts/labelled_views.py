"""View makers for corpora whose lines contain several texts, separated by TABs: labelled pairs and triples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from cseb.errors import BadData


def columns(lines: Sequence[str], allowed: Sequence[int], needed: str) -> list[list[str]]:
    """Split lines into columns, none empty; `allowed` numbers of columns of a line. Raises: BadData."""
    rows = [[text.strip() for text in line.split("\t")] for line in lines]
    invalid = [line for line, row in zip(lines, rows, strict=True) if len(row) not in allowed or not all(row)]
    if invalid:
        shown = invalid[0] if len(invalid[0]) <= 60 else f"{invalid[0][:57]}..."
        raise BadData(
            f"lines that are not {needed}: {len(invalid)} of {len(lines)}, such as {shown!r}; take another corpus"
        )
    return [list(column) for column in zip(*(row[: min(allowed)] for row in rows), strict=True)]


class Triples:
    """Lines "anchor TAB positive TAB hard negative": premise, entailed and contradicting sentence.

    Source: Gao et al. 2021, eq. 5 and table 4. Raises: BadData on a line that is no triple.
    """

    data_seen: ClassVar[str] = "labels"
    columns: ClassVar[tuple[int, ...]] = (3,)
    roles: ClassVar[tuple[str, ...]] = ("anchor", "positive", "negative")
    requires: ClassVar[str] = "labelled triples"
    views = 3

    def __call__(self, sentences: Sequence[str]) -> tuple[Sequence[str], ...]:
        """Return N anchors, N positives and N hard negatives."""
        return tuple(columns(sentences, (3,), "triples (anchor TAB positive TAB hard negative)"))


class GeneratedTriples(Triples):
    """The same lines, written by a language model; the corpus says which one, when and from what prompt.

    Source: Zhang et al. 2023 (SynCSE), Wang et al. 2024 (MultiCSR), Lai et al. 2024 (GCSE). Raises: BadData.
    """

    data_seen: ClassVar[str] = "generated"
    requires: ClassVar[str] = "triples that a language model wrote"


class Pairs:
    """Lines "anchor TAB positive": question and answer, or a triple whose hard negative is left out.

    Source: Gao et al. 2021, table 4 (entailment pairs); Tan et al. 2022, table 2 (question and answer). Raises:
    BadData on a line that is neither.
    """

    data_seen: ClassVar[str] = "labels"
    columns: ClassVar[tuple[int, ...]] = (2, 3)
    roles: ClassVar[tuple[str, ...]] = ("anchor", "positive")
    requires: ClassVar[str] = "labelled pairs"
    views = 2

    def __call__(self, sentences: Sequence[str]) -> tuple[Sequence[str], ...]:
        """Return N anchors and N positives."""
        return tuple(columns(sentences, (2, 3), "pairs (anchor TAB positive)"))
