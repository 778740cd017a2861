"""Human-labelled pairs of real English that come with cseb."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cseb import open_data
from cseb.tasks.pairs import Pairs, RatedPairs


@dataclass(frozen=True, slots=True)
class SNLI:
    """Captions of photographs and sentences that follow from them (grade 2), may be true (1) or contradict them (0).

    The majority of five annotators labelled each pair. In this order the labels are used as grades of similarity, which
    was not rated itself: a contradiction often repeats the words of the caption. `snli` is every third caption of the
    test split with all of its sentences; `snli-dev` every sixth of the dev split, without pairs with a sentence of the
    test split. The score is that of `simcse-sts@1`: Spearman's correlation of cosine and grade.

    Source: Bowman et al. 2015 (the data); the grading is ours.
    """

    name: str
    version: int = 1
    protocol: str = "snli-grades@1"

    def load(self, data_dir: Path | None) -> RatedPairs:
        """Return the data from the file that comes with cseb; `data_dir` is not used. Raises: BadData."""
        grades, premises, hypotheses = zip(*open_data.table(self.name, 3), strict=True)
        return RatedPairs((Pairs(self.name, premises, hypotheses, [float(grade) for grade in grades]),))


SNLI_TEST = SNLI("snli")
SNLI_DEV = SNLI("snli-dev")
