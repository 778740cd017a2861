"""Lines of a corpus that contain several texts or a document: split and checked, without torch.

A view maker names its check by `line_check`; it is made while a grid is planned.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from cseb.data.tables import number
from cseb.errors import BadData
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
