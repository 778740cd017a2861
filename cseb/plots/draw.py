"""Every kind of plot by its name."""

from __future__ import annotations

from collections.abc import Callable
from statistics import fmean
from typing import cast

from cseb.analysis.comparable import is_untrained
from cseb.analysis.options import varied
from cseb.analysis.query import StudyQuery
from cseb.errors import BadResults
from cseb.methods.grammar import labels
from cseb.plots import runs, scores
from cseb.plots.style import Plot
from cseb.records.record import Record, Select
from cseb.reports import layouts as kinds
from cseb.text import plain


def drawn(kind: str, records: list[Record], ask: StudyQuery, detail: str) -> Plot:
    """The plot of this kind. detail: the baseline of a gain, the option of a sensitivity plot. Raises: BadResults."""
    everything = records
    records = [record for record in records if not is_untrained(record)] or records
    select = cast("Select", ask.select)
    study, held = ask.study(records), {one.key: one for one in records}
    if kind == "gain" and detail and detail not in {record.method for record in everything}:
        detail = labels(detail)[0]
    if kind in ("curves", "gain", "seeds", "sensitivity") and not any(study.sizes):
        raise BadResults("nothing was trained in these records, so there is no number of sentences to draw at")

    def curves() -> Plot:
        table = kinds.few_shot(records, (), ask)
        words = [r for r in everything if is_untrained(r) and r.encoder.name.startswith("words:")]
        points = {plain(record.encoder.name.partition(":")[2]): record.points("last") for record in words}
        baselines = {}
        for name, by_task in points.items():
            values = [value for task in table.tasks if (value := by_task.get(task)) is not None]
            if values and len(values) == len(table.tasks):
                baselines[name] = fmean(values)
        return scores.curves(table, baselines)

    def gain() -> Plot:
        base = detail or study.methods[0]
        return scores.gain(kinds.ablation(records, (), ask, full=base), base)

    def sensitivity() -> Plot:
        return scores.sensitivity(kinds.sensitivity(records, (), ask, option=detail), varied(study, detail).numbers)

    draw: dict[str, Callable[[], Plot]] = {
        "curves": curves,
        "gain": gain,
        "seeds": lambda: scores.seeds(kinds.few_shot(records, (), ask)),
        "training": lambda: runs.training(study, held),
        "sensitivity": sensitivity,
        "geometry": lambda: runs.geometry(study, held, study.chosen(ask.tasks), select),
    }
    return draw[kind]()
