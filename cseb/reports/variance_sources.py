"""Where the ± of a cell comes from: runs in which one stream of random numbers varies, beside those in which all do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from cseb.analysis.stats import score
from cseb.analysis.study import gather
from cseb.errors import BadResults
from cseb.records.record import RecordSummary, Select, Vary
from cseb.reports.comparison import NONE, ends, span
from cseb.reports.document import Value
from cseb.reports.sheet import Line, Sheet
from cseb.statistics.variance import Part, part
from cseb.text import percent, plain

ORDER: tuple[Vary, ...] = ("subset", "init", "order", "dropout", "all")


def sources(records: Iterable[RecordSummary], select: Select, tasks: Sequence[str] = ()) -> Sheet:
    """One row for each method, fraction and source of variance. Raises: BadResults if nothing was varied by itself."""
    by_source: dict[Vary, list[RecordSummary]] = {}
    for record in records:
        by_source.setdefault(record.vary, []).append(record)
    if not set(by_source) - {"all"}:
        raise BadResults(
            "no run varies one source alone; make some with: cseb run --vary subset (or init, order, dropout)"
        )
    studies = {source: gather(map(_ordinary, by_source[source])) for source in ORDER if source in by_source}
    first = next(iter(studies.values()))
    chosen = first.chosen(tasks)
    lines = []
    for method in dict.fromkeys(method for study in studies.values() for method in study.methods):
        for size, fraction in sorted({place for study in studies.values() for place in study.sizes.items()}):
            points = {
                source: _points(study.runs.get((method, size), {}), chosen, select) for source, study in studies.items()
            }
            known: dict[str, Value] = {"encoder": first.encoder, "corpus": first.corpus, "method": method}
            known |= {"size": size, "fraction": fraction, "select": select}
            for source, found in _parts(points).items():
                where = f"{plain(method)}, {percent(fraction)}"
                lines.append(
                    Line(cells=(where, source, *_cells(found)), values={**known, "source": source, **_values(found)})
                )
    return Sheet(
        name="variance",
        title=f"Sources of variance, average of {len(chosen)} tasks, {select} checkpoint",
        heads=("method, fraction", "varied", "n", "sd", "95 % interval", "fraction of variance", "95 % interval"),
        lines=tuple(lines),
        notes=(
            "varied: the random stream that differs between seeds, the others are as in seed 0; dropout: every "
            "random draw "
            "within a training step; all: everything varies, as comparisons of methods need.",
            "sd: sample standard deviation in points, with the chi-squared interval. fraction of variance: variance "
            "divided "
            "by that of runs in which all varies, over the seeds both have, with the interval for paired samples "
            "(Pitman, Morgan). Both intervals assume normal scores. Fractions need not add to one: sources interact.",
        ),
    )


def _ordinary(record: RecordSummary) -> RecordSummary:
    """As if everything varied, which is what `gather` keeps; here each source has a study of its own."""
    return record.model_copy(update={"vary": "all"})


def _points(runs: Mapping[int, RecordSummary], tasks: Sequence[str], select: Select) -> dict[int, float]:
    scored = {seed: score(record, tasks, select) for seed, record in runs.items()}
    return {seed: value for seed, value in sorted(scored.items()) if not isinstance(value, str)}


def _parts(points: Mapping[Vary, Mapping[int, float]]) -> dict[Vary, Part]:
    """Sources that at least two seeds have."""
    found: dict[Vary, Part] = {}
    whole = points.get("all", {})
    for source, values in points.items():
        if len(values) > 1:
            shared = sorted(set(values) & set(whole)) if source != "all" else []
            pairs = (np.array([values[seed] for seed in shared]), np.array([whole[seed] for seed in shared]))
            found[source] = part(np.array(list(values.values())), pairs if shared else None)
    return found


def _cells(found: Part) -> tuple[str, ...]:
    fraction = NONE if found.fraction is None else f"{found.fraction:.2f}"
    return str(found.n), f"{found.sd:.2f}", span(found.reach), fraction, span(found.fraction_reach)


def _values(found: Part) -> dict[str, Value]:
    low, high = ends(found.fraction_reach)
    known: dict[str, Value] = {"n": found.n, "sd": found.sd, "sd_low": found.reach.low, "sd_high": found.reach.high}
    return known | {"variance_fraction": found.fraction, "variance_fraction_low": low, "variance_fraction_high": high}
