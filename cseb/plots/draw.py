"""Every kind of plot by its name."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from cseb.analysis.comparable import as_it_stands
from cseb.analysis.options import varied
from cseb.analysis.query import StudyQuery
from cseb.errors import BadResults
from cseb.methods.grammar import labels
from cseb.plots import runs, scores
from cseb.plots.style import Plot
from cseb.records.record import Record, Select
from cseb.reports import layouts as kinds


def drawn(kind: str, records: list[Record], ask: StudyQuery, baseline: str, option: str) -> Plot:
    """The plot of this kind. Raises: BadResults where the records cannot fill it."""
    everything = records
    records = [record for record in records if not as_it_stands(record)] or records
    select = cast("Select", ask.select)
    study, held = ask.study(records), {one.key: one for one in records}
    if baseline and baseline not in {record.method for record in everything}:
        baseline = labels(baseline)[0]
    if kind in ("curves", "gain", "seeds", "sensitivity") and not any(study.sizes):
        raise BadResults("nothing was trained in these records, so there is no number of sentences to draw at")

    def gain() -> Plot:
        base = baseline or study.methods[0]
        return scores.gain(kinds.ablation(records, (), ask, full=base), base)

    def sensitivity() -> Plot:
        return scores.sensitivity(kinds.sensitivity(records, (), ask, option=option), varied(study, option).numbers)

    draw: dict[str, Callable[[], Plot]] = {
        "curves": lambda: scores.curves(kinds.few_shot(records, (), ask)),
        "gain": gain,
        "seeds": lambda: scores.seeds(kinds.few_shot(records, (), ask)),
        "training": lambda: runs.training(study, held),
        "sensitivity": sensitivity,
        "geometry": lambda: runs.geometry(study, held, study.chosen(ask.tasks), select),
    }
    return draw[kind]()
