"""View makers for corpora whose lines contain several texts, separated by TABs: pairs, rated pairs and triples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from cseb.data.class_pairs import ITERATIONS, class_pairs
from cseb.data.lines import columns, labelled, rated_pairs
from cseb.errors import BadData
from cseb.methods.option_types import Count
from cseb.parts.base import BasePart

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
