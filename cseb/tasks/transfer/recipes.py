"""How the classifiers of each protocol are trained."""

from __future__ import annotations

from functools import partial

from cseb.tasks.transfer.learner import Recipe
from cseb.tasks.transfer.linear import FAST, TEST, Batched
from cseb.tasks.transfer.logistic import Converged

L2 = (1e-5, 1e-4, 1e-3, 1e-2)
TEST_RECIPE = Recipe(partial(Batched, TEST), folds=10, grid=L2, inner=10)
FAST_RECIPE = Recipe(partial(Batched, FAST), folds=5, grid=L2, inner=5)
LOGREG_RECIPE = Recipe(Converged, folds=5, grid=(0.1, 1.0, 10.0, 100.0), inner=1)
