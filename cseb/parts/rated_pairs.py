"""A view maker for pairs of texts with similarity ratings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from cseb.data.lines import rated_pairs


class RatedPairs:
    """Lines "left TAB right TAB score": two texts, and a rating that is higher the more similar they are.

    Source: Cer et al. 2017 (STS-B) for the form. Raises: BadData on a line of another form.
    """

    data_seen: ClassVar[str] = "labels"
    columns: ClassVar[tuple[int, ...]] = (3,)
    roles: ClassVar[tuple[str, ...]] = ("left", "right", "score")
    requires: ClassVar[str] = "rated pairs"
    line_check: ClassVar[str] = "cseb.data.lines:check_ratings"
    views = 2

    def __init__(self) -> None:
        self.scores: list[float] | None = None

    def __call__(self, sentences: Sequence[str]) -> tuple[Sequence[str], ...]:
        """Return N left and N right texts; store their ratings in `scores`."""
        left, right, self.scores = rated_pairs(sentences)
        return left, right
