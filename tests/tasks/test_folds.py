"""Folds: groups stay together, classes are spread evenly, and the result is the same everywhere."""

import numpy as np
import pytest

from cseb.errors import BadData
from cseb.tasks.influence import deal


def test_groups_stay_together_and_strata_are_spread() -> None:
    groups = np.repeat(np.arange(20), 2)
    strata = np.where(groups < 10, 0, 1)
    result = deal(groups, strata, 5, "t")
    assert (result[0::2] == result[1::2]).all()
    for stratum in (0, 1):
        assert (np.bincount(result[strata == stratum], minlength=5) == 4).all()
    assert (result == deal(groups, strata, 5, "t")).all()


@pytest.mark.parametrize("folds", [1, 4])
def test_too_few_groups_are_refused(folds: int) -> None:
    with pytest.raises(
        BadData, match=rf"t allows 2 to 3 folds, as many as items without common text; {folds} asked for"
    ):
        deal(np.arange(3), np.zeros(3, dtype=np.int64), folds, "t")
    with pytest.raises(BadData, match="t cannot be divided into folds: its 3 items are connected by common texts"):
        deal(np.zeros(3, dtype=np.int64), np.zeros(3, dtype=np.int64), folds, "t")
