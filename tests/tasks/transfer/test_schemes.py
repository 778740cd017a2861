"""Which rows train, choose and count, with learners that only take notes."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold

from cseb.tasks.influence import Labels
from cseb.tasks.transfer.linear import Problem, Recipe, Trained
from cseb.tasks.transfer.schemes import (
    FAST_RECIPE,
    L2,
    LOGREG_RECIPE,
    TEST_RECIPE,
    best,
    fixed,
    folds,
    nested,
    on_train,
)

LABELS = np.array([0, 1, 1] * 40)


class Notes:
    """Scores values as it is told to, predicts the number of training rows."""

    def __init__(self, scores: Sequence[float] = (0.5, 0.75, 0.75, 0.5)) -> None:
        self.scores, self.problems, self.asked = scores, [], []

    def fit_all(self, problems: Sequence[Problem]) -> list[list[Trained]]:
        start = len(self.problems)
        self.problems += problems
        return [
            [
                Trained(score, lambda rows, n=n: self.predict(rows, n))
                for score, _ in zip(self.scores, each.values, strict=False)
            ]
            for n, each in enumerate(problems, start)
        ]

    def predict(self, rows: np.ndarray, number: int) -> Labels:
        self.asked.append((number, rows))
        return np.full(len(rows), number)


def fits(notes: Notes) -> int:
    return sum(len(each.values) for each in notes.problems)


def test_folds_are_those_of_scikit_learn_since_0_22() -> None:
    theirs = StratifiedKFold(3, shuffle=True, random_state=1111).split(np.zeros(12), LABELS[:12])
    result = folds(LABELS[:12], 3)
    for (train, test), (their_train, their_test) in zip(result, theirs, strict=True):
        assert (train.tolist(), test.tolist()) == (their_train.tolist(), their_test.tolist())
    # written down with scikit-learn 1.9.1: another version that deals out rows differently changes every score
    assert [test.tolist() for _, test in result] == [[2, 6, 7, 9], [1, 3, 10, 11], [0, 4, 5, 8]]


@pytest.mark.parametrize(("recipe", "count"), [(TEST_RECIPE, 410), (FAST_RECIPE, 105), (LOGREG_RECIPE, 25)])
def test_nested_cross_validation(recipe: Recipe, count: int) -> None:
    notes = Notes()
    guess = nested(notes, recipe, LABELS)
    assert fits(notes) == count
    assert sorted(np.concatenate([rows for _, rows in notes.asked]).tolist()) == list(range(120))
    for number, rows in notes.asked:
        final = notes.problems[number]
        assert final.held_out is None
        assert final.values == (recipe.grid[1],)  # the smaller of two that are equally good
        assert not set(final.train) & set(rows)
        assert len(final.train) + len(rows) == 120
        assert (guess.predicted[rows] == number).all()
    searches = notes.problems[: -recipe.folds]
    per_fold = len(searches) // recipe.folds
    for number, search in enumerate(searches):
        outer = set(notes.problems[len(searches) + number // per_fold].train)
        assert set(search.train) | set(search.held_out) == outer  # nothing of the outer test part is looked at
        assert not set(search.train) & set(search.held_out)
    assert (guess.dev == 75).all()


@pytest.mark.parametrize(("recipe", "count"), [(TEST_RECIPE, 41), (FAST_RECIPE, 21), (LOGREG_RECIPE, 5)])
def test_cross_validation_on_the_training_part(recipe: Recipe, count: int) -> None:
    notes = Notes()
    guess = on_train(notes, recipe, LABELS, train=90)
    assert fits(notes) == count
    *searches, final = notes.problems
    assert all(max(*search.train, *search.held_out) < 90 for search in searches)
    assert (final.train.tolist(), final.held_out, final.values) == (list(range(90)), None, (recipe.grid[1],))
    [(_, rows)] = notes.asked
    assert rows.tolist() == list(range(90, 120))
    assert (len(guess.predicted), set(guess.dev)) == (30, {75.0})


def test_a_fixed_dev_part_needs_no_second_training() -> None:
    notes = Notes((0.5, 0.25, 0.9, 0.1))
    guess = fixed(notes, TEST_RECIPE, LABELS, train=80, dev=30)
    [problem] = notes.problems
    assert (problem.train.tolist(), problem.held_out.tolist()) == (list(range(80)), list(range(80, 110)))
    assert problem.values == L2
    [(_, rows)] = notes.asked
    assert rows.tolist() == list(range(110, 120))
    assert set(guess.dev) == {90.0}


def test_the_strengths_of_l2_are_those_of_senteval() -> None:
    assert pytest.approx([10.0**power for power in range(-5, -1)]) == L2


def trained(accuracy: float, criterion: float | None = None) -> Trained:
    return Trained(accuracy, lambda rows: rows, criterion)


def test_what_a_learner_chooses_by_need_not_be_its_accuracy() -> None:
    two = replace(LOGREG_RECIPE, grid=(0.1, 0.2))
    folds_of_values = [[trained(0.9, -2.1), trained(0.6, -2.0)], [trained(0.9, -1.0), trained(0.5, -1.0)]]
    assert best(two, folds_of_values) == (0.2, 55.0)


def test_scores_are_rounded_before_they_are_compared_and_the_smallest_wins_a_tie() -> None:
    two = replace(TEST_RECIPE, grid=(0.1, 0.2))
    assert best(two, [[trained(0.80001), trained(0.80004)]]) == (0.1, 80.0)
    assert best(two, [[trained(0.80001), trained(0.80006)]]) == (0.2, 80.01)
    assert best(two, [[trained(0.2), trained(0.3)], [trained(0.6), trained(0.5)]]) == (0.1, 40.0)  # mean over folds
