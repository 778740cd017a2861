"""One score for each method and corpus: blocks that are training runs of their own."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cseb.analysis.comparable import INPUTS, refuse_differences, tag
from cseb.analysis.query import StudyQuery
from cseb.analysis.stats import cell
from cseb.analysis.study import Study
from cseb.errors import BadResults
from cseb.records.record import RecordSummary, Select
from cseb.statistics.blocks import FEWEST_BLOCKS
from cseb.text import plain


@dataclass(frozen=True, slots=True, eq=False)
class Blocks:
    """scores: (K, N) points by method and corpus, mean over seeds of the average over tasks. studies: of each corpus.

    left_out: methods that lack a corpus.
    """

    methods: tuple[str, ...]
    scores: npt.NDArray[np.float64]
    studies: tuple[Study, ...]
    tasks: tuple[str, ...]
    select: Select
    left_out: tuple[str, ...]


def blocks(records: Iterable[RecordSummary], ask: StudyQuery, select: Select) -> Blocks:
    """Every corpus of the records as a block. Raises: BadResults when there are too few, or they cannot be compared."""
    by_corpus: dict[str, list[RecordSummary]] = {}
    for record in sorted(records, key=lambda one: one.corpus.name):
        by_corpus.setdefault(record.corpus.sha256, []).append(record)
    if len(by_corpus) < FEWEST_BLOCKS:
        raise BadResults(
            f"a critical-difference diagram needs {FEWEST_BLOCKS} corpora, each with training runs of its own; here "
            f"{'is' if len(by_corpus) == 1 else 'are'} {len(by_corpus)}. Tasks of one run are no independent blocks "
            "(false alarms in 41 to 85 % of studies); take cseb compare"
        )
    studies = [ask.study(group) for group in by_corpus.values()]
    refuse_differences([record for study in studies for record in study.records], INPUTS[:1], mixed=ask.mixed)
    for study in studies:
        if len(study.sizes) > 1:
            known = ", ".join(f"{one:g}" for one in study.sizes.values())
            raise BadResults(
                f"{plain(study.records[0].corpus.name)} has several fractions; choose one with --fraction: {known}"
            )
    tasks = studies[0].chosen(ask.tasks)
    named = dict.fromkeys(method for study in studies for method in study.methods)
    found = {method: [_mean(study, method, tasks, select) for study in studies] for method in named}
    whole = {method: [p for p in points if p is not None] for method, points in found.items() if None not in points}
    if len(whole) < 2:
        raise BadResults("there are no two methods with points on every corpus; nothing can be ranked")
    left_out = tuple(method for method in named if method not in whole)
    return Blocks(tuple(whole), np.array(list(whole.values())), tuple(studies), tasks, select, left_out)


def corpora(found: Blocks) -> list[str]:
    """What the blocks are, exactly."""
    return [tag(study.records[0].corpus) for study in found.studies]


def _mean(study: Study, method: str, tasks: tuple[str, ...], select: Select) -> float | None:
    [size] = study.sizes
    return cell(study.runs.get((method, size), {}), study.seeds, tasks, select).mean
