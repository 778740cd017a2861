"""Folds that cannot be made; those that can are in test_labelled.py and test_retrieval.py."""

import numpy as np
import pytest

from cseb.errors import BadData
from cseb.tasks.influence import deal


@pytest.mark.parametrize("folds", [1, 4])
def test_too_few_groups_are_refused(folds: int) -> None:
    with pytest.raises(
        BadData, match=rf"t allows 2 to 3 folds, as many as items without common text; {folds} asked for"
    ):
        deal(np.arange(3), np.zeros(3, dtype=np.int64), folds, "t")
    with pytest.raises(BadData, match="t cannot be divided into folds: its 3 items are connected by common texts"):
        deal(np.zeros(3, dtype=np.int64), np.zeros(3, dtype=np.int64), folds, "t")
