"""A view maker for pairs of texts with similarity ratings."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import ClassVar

from cseb.errors import BadData
from cseb.parts.labelled_views import columns


class RatedPairs:
    """Lines "left TAB right TAB score": two texts, and a rating that is higher the more similar they are.

    Source: Cer et al. 2017 (STS-B) for the form. Raises: BadData on a line of another form.
    """

    data_seen: ClassVar[str] = "labels"
    columns: ClassVar[tuple[int, ...]] = (3,)
    roles: ClassVar[tuple[str, ...]] = ("left", "right", "score")
    requires: ClassVar[str] = "rated pairs"
    views = 2

    def __init__(self) -> None:
        self.scores: list[float] | None = None

    def __call__(self, sentences: Sequence[str]) -> tuple[Sequence[str], ...]:
        """Return N left and N right texts; store their ratings in `scores`."""
        left, right, scores = columns(sentences, (3,), "rated pairs (left TAB right TAB score)")
        self.scores = [rating(score, line) for score, line in zip(scores, sentences, strict=True)]
        return left, right

    @staticmethod
    def check_lines(lines: Sequence[str], options: Mapping[str, object]) -> None:
        """Raise BadData if a line is no rated pair."""
        RatedPairs()(lines)


def rating(score: str, line: str) -> float:
    """Return the number at the end of a line. Raises: BadData."""
    try:
        value = float(score)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        shown = line if len(line) <= 60 else f"{line[:57]}..."
        raise BadData(
            f"a rated pair ends in {score[:30]!r}, which is no number: {shown!r}; take a corpus of rated pairs"
        )
    return value
