"""All kinds of plots by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from cseb.analysis.comparable import is_untrained
from cseb.analysis.options import varied
from cseb.analysis.stats import word_baselines
from cseb.analysis.study import StudyQuery
from cseb.errors import BadResults
from cseb.methods.grammar import labels
from cseb.plots import runs, scores
from cseb.plots.style import Plot
from cseb.records.record import Record, Select
from cseb.reports import layouts
from cseb.text import plain


def drawn(kind: str, records: Sequence[Record], query: StudyQuery, detail: str) -> Plot:
    """Return the plot of this kind.

    detail: the baseline of a gain, the option of a sensitivity plot. Raises: BadResults if the records cannot fill it.
    """
    trained = [record for record in records if not is_untrained(record)] or list(records)
    by_key = {record.key: record for record in trained}
    study = query.study(trained)
    if kind == "gain" and detail and detail not in {record.method for record in records}:
        detail = labels(detail)[0]
    base = detail or study.methods[0]
    if kind in ("curves", "gain", "seeds", "sensitivity") and not any(study.sizes):
        raise BadResults("nothing was trained in these records, so there is no number of sentences to draw at")
    tasks = study.chosen(query.tasks)
    words = word_baselines(records, tasks)
    baselines = {plain(name.partition(":")[2]): score for name, score in words.items()}
    draw: dict[str, Callable[[], Plot]] = {
        "curves": lambda: scores.curves(layouts.few_shot(trained, (), query), baselines),
        "gain": lambda: scores.gain(layouts.ablation(trained, (), query, full=base), base),
        "seeds": lambda: scores.seeds(layouts.few_shot(trained, (), query), baselines),
        "training": lambda: runs.training(study, by_key),
        "sensitivity": lambda: scores.sensitivity(
            layouts.sensitivity(trained, (), query, option=detail), varied(study, detail).numbers
        ),
        "geometry": lambda: runs.geometry(study, by_key, tasks, cast("Select", query.select)),
    }
    return draw[kind]()
