"""Which cells of a column are printed in bold: the best method, and every one not significantly different from it."""

from __future__ import annotations

from collections.abc import Collection

from cseb.analysis.item_scores import ItemScores
from cseb.analysis.paired import best_methods, samples
from cseb.analysis.query import Best
from cseb.analysis.study import Study
from cseb.errors import BadResults
from cseb.records.record import Select

MOST = 40  # methods; their pairs grow with the square, and Holm's correction leaves no power


def by_seeds() -> Best:
    """For new seeds on the same test items. Above `MOST` methods nothing is marked."""

    def best(study: Study, size: int, tasks: tuple[str, ...], select: Select) -> Collection[str]:
        return best_methods(study, size, tasks, select) if len(study.methods) <= MOST else study.methods

    return best


def by_items(item_scores: ItemScores) -> Best:
    """For new seeds and new test items. Raises (when asked): BadResults where items or task data are not there."""

    def best(study: Study, size: int, tasks: tuple[str, ...], select: Select) -> Collection[str]:
        lacking = [one.lacking for one in samples(study, size, tasks, select, item_scores) if one.lacking]
        if lacking:
            raise BadResults(f"cells cannot be marked for new test items: {lacking[0]}; take `mark` seeds")
        return best_methods(study, size, tasks, select, item_scores) if len(study.methods) <= MOST else study.methods

    return best
