"""A view maker for pairs of texts whose likeness people have rated."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import ClassVar

from cseb.errors import BadData
from cseb.parts.labelled_views import columns


class RatedPairs:
    """Lines "left TAB right TAB score": two texts, and a number that is higher the more alike they are.

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
        """N lines to N left and N right texts; their ratings are in `scores`."""
        left, right, scores = columns(sentences, (3,), "rated pairs (left TAB right TAB score)")
        self.scores = [rating(score, line) for score, line in zip(scores, sentences, strict=True)]
        return left, right

    @staticmethod
    def check_lines(lines: Sequence[str], options: Mapping[str, object]) -> None:
        """Raises: BadData."""
        RatedPairs()(lines)


def rating(score: str, line: str) -> float:
    """The number a line ends with. Raises: BadData."""
    try:
        found = float(score)
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        shown = line if len(line) <= 60 else f"{line[:57]}..."
        raise BadData(
            f"a rated pair ends in {score[:30]!r}, which is no number: {shown!r}; take a corpus of rated pairs"
        )
    return found
