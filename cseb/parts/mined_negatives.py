"""Hard negatives mined from the subset itself, with a margin against false negatives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F

from cseb.encoder.interface import Rows
from cseb.errors import BadSpec
from cseb.methods.option_types import Rate, Size
from cseb.parts.base import EncoderPart
from cseb.parts.contract_checks import check_dropout
from cseb.parts.labelled_views import Pairs

AT_ONCE = 1024  # anchors compared with all positives at a time

Vectors = npt.NDArray[np.float32]


def mined_rows(anchors: Vectors, positives: Vectors, margin: float, skip: int) -> Rows:
    """Return the row (N,) of each anchor's hard negative among the positives, both (N, D). Raises: BadSpec for one row.

    It is the most similar positive of another row whose cosine is below the own positive's by more than a fraction
    `margin` of that, after the first `skip` of these, or the last where there are fewer. An anchor without any has the
    least similar one. Source: sentence-transformers, mine_hard_negatives (relative_margin, range_min); Moreira et al.
    2024 (NV-Retriever), TopK-PercPos.
    """
    if len(anchors) < 2:
        raise BadSpec("mined negatives: one sentence has no other; take more sentences")
    left, right = (F.normalize(torch.from_numpy(side), dim=1) for side in (anchors, positives))
    rows = []
    for chunk in torch.split(torch.arange(len(left)), AT_ONCE):
        scores = left[chunk] @ right.T  # (C, N)
        own = scores[torch.arange(len(chunk)), chunk][:, None]
        allowed = scores < own - margin * own.abs()
        ranked, order = scores.masked_fill(~allowed, -2.0).topk(min(skip + 1, len(right)), dim=1)
        last = (ranked > -2).sum(dim=1, keepdim=True).clamp(min=1) - 1
        nearest = order.gather(1, last)[:, 0]
        rows.append(torch.where(allowed.any(dim=1), nearest, scores.scatter(1, chunk[:, None], 2.0).argmin(dim=1)))
    return torch.cat(rows).numpy()


class MinedNegatives(EncoderPart):
    """The sentence twice, and a hard negative: a similar sentence of the subset, by the encoder as loaded.

    margin: fraction of the positive's cosine, here 1, by which a negative's cosine is lower at least; closer sentences
    may say the same. skip: how many of the nearest allowed ones are left out. Mined once, in time and memory that grow
    with the square of the subset. Source: see mined_rows. Raises: BadSpec on an encoder without dropout.
    """

    views = 3
    margin: Rate = 0.05  # NV-Retriever: at most 95 % of the positive's score
    skip: Size = 0

    def __post_init__(self) -> None:
        check_dropout("mined_negatives", self.shape)

    def __call__(self, sentences: Sequence[str]) -> tuple[Sequence[str], ...]:
        """Return the list of N sentences three times; `pair` selects the negatives."""
        return sentences, sentences, sentences

    def mine(self, anchors: Vectors, positives: Vectors) -> Rows:
        """Store and return the rows (N,) of the negatives, from vectors (N, D) of both views."""
        self.negatives = mined_rows(anchors, positives, self.margin, self.skip)
        return self.negatives

    def pair(self, rows: Rows, sentences: int, rng: np.random.Generator) -> Rows:
        """Return the rows (B,) of the negatives of `rows` (B,)."""
        return self.negatives[rows]


class MinedPairs(MinedNegatives, Pairs):
    """Lines "anchor TAB positive", and a hard negative for each: the positive of another line.

    margin, skip: as mined_negatives, with the cosine of each line's own pair. Source: see mined_rows.
    """

    texts: ClassVar[int] = 2

    def __post_init__(self) -> None:
        """Accept any encoder: anchor and positive are different texts."""

    def __call__(self, sentences: Sequence[str]) -> tuple[Sequence[str], ...]:
        """Return N anchors, and N positives twice."""
        anchors, positives = Pairs.__call__(self, sentences)
        return anchors, positives, positives
