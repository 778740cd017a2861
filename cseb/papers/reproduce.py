"""Compare the means of our runs with the numbers that papers report for the same method, fraction and task."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from cseb.analysis.stats import Cell, cell
from cseb.papers.printed import Printed
from cseb.papers.scores import departures, encoder_id, printed_names, published
from cseb.records.record import Record, Select
from cseb.regression.check_results import CheckResult
from cseb.statistics.published import Agreement, one_run, several_runs
from cseb.text import percent, plain


def agreement(ours: Cell, row: Printed) -> Agreement | None:
    """Return whether our mean agrees with a published number at 5 %; None below two seeds.

    Welch's t-test where the paper prints a standard deviation over runs, else the prediction interval of one run.
    """
    if ours.n < 2:
        return None
    values = np.array(list(ours.values.values()))
    if row.std is not None and row.n_seeds is not None and row.n_seeds > 1:
        return several_runs(values, row.mean, row.std, row.n_seeds)
    return one_run(values, row.mean)


def reproduced(records: Iterable[Record]) -> list[CheckResult]:
    """Return one result for each method, fraction, checkpoint and published number."""
    groups: dict[tuple[str, int, str, str], list[Record]] = {}
    for record in records:
        place = (record.method, record.subset.size, record.encoder.sha256, record.corpus.sha256)
        groups.setdefault(place, []).append(record)
    return [result for group in groups.values() for result in _group(group)]


def _group(records: Sequence[Record]) -> list[CheckResult]:
    first = records[0]
    selects: list[Select] = sorted({score.select for record in records for score in record.scores})
    runs = {record.seed: record for record in records}
    return [
        _result(first, select, cell(runs, sorted(runs), tasks, select), row, tasks)
        for select in selects
        for row, tasks in _printed_for(first)
    ]


def _printed_for(record: Record) -> list[tuple[Printed, tuple[str, ...]]]:
    """Published numbers for the tasks and averages of a record, each with these tasks; averages first.

    If no paper uses the encoder, numbers of every encoder are returned, which are then reported as not comparable.
    """
    encoder = encoder_id(record.encoder.name)
    return [
        (row, tasks)
        for name, tasks in printed_names(record.protocol.tasks).items()
        for row in published(record.method, name, record.subset.fraction, encoder or "any")
    ]


def _result(record: Record, select: Select, ours: Cell, row: Printed, tasks: Sequence[str]) -> CheckResult:
    spread = f" ± {row.std_text} (n={row.n_seeds})" if row.std_text else ""
    theirs = f"{row.where}: {row.text}{spread}" + (f" [{row.flag}]" if row.flag else "")
    name = f"{plain(record.method)} {percent(record.subset.fraction)} {select}"
    name += "" if row.task == "sts-avg" else f" {row.task}"
    ok, message = _compared(ours, row, departures(record, select, row, tasks))
    return CheckResult(question="paper", cell=name, ok=ok, text=f"{theirs}; {message}", moved=True)


def _compared(ours: Cell, row: Printed, differences: Sequence[str]) -> tuple[bool | None, str]:
    if differences:
        return None, f"not comparable ({'; '.join(differences)})"
    if ours.mean is None or ours.absent:
        return None, f"not comparable ({len(ours.absent)} of {ours.n + len(ours.absent)} seeds have no score)"
    agrees = agreement(ours, row)
    if agrees is None:
        return None, f"ours {ours.mean:.2f} from one seed, so no interval; difference {ours.mean - row.mean:+.2f}"
    low, high = agrees.interval.low, agrees.interval.high
    words = "inside" if agrees.consistent else "outside"
    return agrees.consistent, (
        f"{words}: ours {ours.mean:.2f} ± {ours.sd:.2f} (n={ours.n}), difference {agrees.gap:+.2f}, "
        f"expected from {low:+.2f} to {high:+.2f}"
    )
