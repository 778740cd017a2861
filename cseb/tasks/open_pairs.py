"""Human-labelled pairs of real English that come with cseb."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cseb import open_data
from cseb.tasks.pairs import Pairs, RatedPairs


@dataclass(frozen=True, slots=True)
class SNLI:
    """Captions of photographs and sentences that follow from them (grade 2), may be true (1) or contradict them (0).

    The majority of five annotators labelled each pair; the labels in this order are graded as similarity is, though
    nobody rated it: a contradiction often repeats the words of the caption. `snli` is every third caption of the test
    split with all of its sentences; `snli-dev` every sixth of the dev split, without pairs of which one sentence is
    anywhere in the test split. Scored as `simcse-sts@1`: Spearman of cosine and grade, nothing is trained.

    Source: Bowman et al. 2015 (the data); the grading is ours, in no paper.
    """

    name: str
    version: int = 1
    protocol: str = "snli-grades@1"

    def load(self, data_dir: Path | None) -> RatedPairs:
        """Read the file that comes with cseb; `data_dir` is not used. Raises: BadData."""
        grades, premises, hypotheses = zip(*open_data.table(self.name, 3), strict=True)
        return RatedPairs((Pairs(self.name, premises, hypotheses, [float(grade) for grade in grades]),))


SNLI_TEST = SNLI("snli")
SNLI_DEV = SNLI("snli-dev")
