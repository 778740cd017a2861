"""View makers for lines of several texts joined by TABs (pairs, rated pairs, triples), and mined hard negatives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F

from cseb.data.lines import ITERATIONS, class_pairs, columns, labelled, rated_pairs
from cseb.encoder.interface import Rows
from cseb.errors import BadData, BadSpec
from cseb.methods.option_types import Count, Rate, Size
from cseb.parts.base import BasePart, EncoderPart, check_dropout

MOST_LABELLED = 5_000  # sentences; all their pairs are in memory


class Triples(BasePart):
    """Lines "anchor TAB positive TAB hard negative": premise, entailed and contradicting sentence.

    Source: Gao et al. 2021, eq. 5 and table 4. Raises: BadData on a line that is no triple.
    """

    data_seen: ClassVar[str] = "labels"
    columns: ClassVar[tuple[int, ...]] = (3,)
    roles: ClassVar[tuple[str, ...]] = ("anchor", "positive", "negative")
    requires: ClassVar[str] = "labelled triples"
    views = 3

    def __call__(self, sentences: Sequence[str]) -> tuple[Sequence[str], ...]:
        return tuple(columns(sentences, (3,), "triples (anchor TAB positive TAB hard negative)"))


class GeneratedTriples(Triples):
    """The same lines, written by a language model; the corpus says which one, when and from what prompt.

    Source: Zhang et al. 2023 (SynCSE), Wang et al. 2024 (MultiCSR), Lai et al. 2024 (GCSE). Raises: BadData.
    """

    data_seen: ClassVar[str] = "generated"
    requires: ClassVar[str] = "triples that a language model wrote"


class Pairs(BasePart):
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
        return tuple(columns(sentences, (2, 3), "pairs (anchor TAB positive)"))


class RatedPairs(BasePart):
    """Lines "left TAB right TAB score": two texts, and a rating that is higher the more similar they are.

    Source: Cer et al. 2017 (STS-B) for the form. Raises: BadData on a line of another form.
    """

    data_seen: ClassVar[str] = "labels"
    columns: ClassVar[tuple[int, ...]] = (3,)
    roles: ClassVar[tuple[str, ...]] = ("left", "right", "score")
    requires: ClassVar[str] = "rated pairs"
    line_check: ClassVar[str] = "cseb.data.lines:check_ratings"
    views = 2
    unlike: ClassVar[str] = "pairs with low ratings"

    def __init__(self) -> None:
        self.scores: list[float] | None = None

    def __call__(self, sentences: Sequence[str]) -> tuple[Sequence[str], ...]:
        """Return N left and N right texts; store their ratings in `scores`."""
        left, right, self.scores = rated_pairs(sentences)
        return left, right


class ClassPairs(BasePart):
    """Lines "text TAB label": pairs of sentences of one class, with score 1, and of two classes, with score 0.

    iterations: pairs of one class, and as many of two, for each labelled sentence. Drawn once; a step reads pairs and
    not sentences. Source: Tunstall et al. 2022 (SetFit), section 3; setfit 1.2. Raises: BadData on a line of another
    form, for labels of one class, and for more than 5,000 sentences.
    """

    data_seen: ClassVar[str] = "labels"
    columns: ClassVar[tuple[int, ...]] = (2,)
    roles: ClassVar[tuple[str, ...]] = ("text", "label")
    requires: ClassVar[str] = "labelled sentences"
    line_check: ClassVar[str] = "cseb.data.lines:check_labels"
    texts: ClassVar[int] = 1
    views = 2
    unlike: ClassVar[str] = "pairs of two classes"

    def __init__(self, run_seed: int, iterations: Count = ITERATIONS) -> None:
        self.seed, self.iterations = run_seed, iterations
        self.scores: list[float] | None = None

    def __call__(self, sentences: Sequence[str]) -> tuple[Sequence[str], ...]:
        """Return P left and P right texts of N labelled sentences; store whether they are of one class in `scores`."""
        if len(sentences) > MOST_LABELLED:
            raise BadData(f"class_pairs: {len(sentences):,} labelled sentences are too many; take 5,000 or fewer")
        texts, labels = labelled(sentences)
        pairs = class_pairs(texts, labels, np.random.Generator(np.random.PCG64(self.seed)), self.iterations)
        self.scores = pairs.same.tolist()
        return [texts[row] for row in pairs.left], [texts[row] for row in pairs.right]


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
