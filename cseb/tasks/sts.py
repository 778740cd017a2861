"""STS12 to STS16, STS-B and SICK-R, unsupervised: rank correlation of cosines and ratings."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cseb.tasks.folder import data_root
from cseb.tasks.pairs import RatedPairs
from cseb.tasks.senteval import READERS


@dataclass(frozen=True, slots=True)
class STS:
    """Pairs rated by humans, read from a folder in SentEval's layout.

    Source: SemEval 2012 to 2017 and Marelli et al. 2014, in the setting of Gao et al. 2021, appendix B: the test split
    only, subsets of a year ranked together. These are not the supervised tasks of the original SentEval.
    """

    name: str
    version: int = 1
    protocol: str = "simcse-sts@1"

    def load(self, data_dir: Path | None) -> RatedPairs:
        """Return the checked files; without `data_dir`, fetch the same ones from the hub. Raises: BadData."""
        return RatedPairs(READERS[self.name](data_root(data_dir)))


STS12 = STS("sts12")
STS13 = STS("sts13")
STS14 = STS("sts14")
STS15 = STS("sts15")
STS16 = STS("sts16")
STSB = STS("stsb")
SICKR = STS("sickr")
STSB_DEV = STS("stsb-dev")
SICKR_DEV = STS("sickr-dev")
