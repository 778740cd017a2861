"""Comparison of our means with the numbers that papers report for the same method, fraction and task."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from cseb.analysis.stats import Cell, cell
from cseb.papers.printed import Printed
from cseb.papers.scores import departures, encoder_id, printed_names, published
from cseb.records.record import Record, Select
from cseb.regression.check_results import CheckResult
from cseb.statistics.published import Agreement, one_run, several_runs
from cseb.text import percent, plain


@dataclass(frozen=True, slots=True)
class Match:
    """A mean of ours beside one published number.

    departures: conditions that differ, so that the two are not comparable. agreement: None below two seeds or if they
    are not comparable.
    """

    ours: Cell
    row: Printed
    departures: tuple[str, ...]
    agreement: Agreement | None

    @property
    def theirs(self) -> str:
        """Return `75.81 ± 0.41 (n=5)`, as printed."""
        spread = f" ± {self.row.std_text}" if self.row.std is not None else ""
        return self.row.text + spread + (f" (n={self.row.n_seeds})" if self.row.n_seeds else "")


def match(record: Record, select: Select, ours: Cell, row: Printed, tasks: Sequence[str]) -> Match:
    """Compare a cell with a published number. record: any record of the cell.

    The test is Welch's t-test at 5 % where the paper prints a standard deviation over runs, else the prediction
    interval of one run.
    """
    differences = tuple(departures(record, select, row, tasks))
    agreement = None
    if not differences and ours.n > 1:
        values = np.array(list(ours.values.values()))
        if row.std is not None and row.n_seeds is not None and row.n_seeds > 1:
            agreement = several_runs(values, row.mean, row.std, row.n_seeds)
        else:
            agreement = one_run(values, row.mean)
    return Match(ours, row, differences, agreement)


def reproduced(records: Iterable[Record]) -> list[CheckResult]:
    """Return one result for each method, fraction, checkpoint and published number.

    If no paper uses the encoder, numbers of every encoder are compared, and reported as not comparable.
    """
    groups: dict[tuple[str, int, str, str], list[Record]] = {}
    for record in records:
        place = (record.method, record.subset.size, record.encoder.sha256, record.corpus.sha256)
        groups.setdefault(place, []).append(record)
    return [result for group in groups.values() for result in _results(group)]


def _results(records: Sequence[Record]) -> Iterator[CheckResult]:
    first = records[0]
    selects: list[Select] = sorted({score.select for record in records for score in record.scores})
    runs = {record.seed: record for record in records}
    encoder = encoder_id(first.encoder.name) or "any"
    for select in selects:
        for task, tasks in printed_names(first.protocol.tasks).items():
            name = f"{plain(first.method)} {percent(first.subset.fraction)} {select}"
            name += "" if task == "sts-avg" else f" {task}"
            for row in published(first.method, task, first.subset.fraction, encoder):
                compared = match(first, select, cell(runs, sorted(runs), tasks, select), row, tasks)
                flag = f" [{row.flag}]" if row.flag else ""
                text = f"{row.where}: {compared.theirs}{flag}; {_conclusion(compared)}"
                ok = compared.agreement.consistent if compared.agreement and not compared.ours.absent else None
                yield CheckResult(question="paper", cell=name, ok=ok, text=text, moved=True)


def _conclusion(compared: Match) -> str:
    ours, row, agreement = compared.ours, compared.row, compared.agreement
    if compared.departures:
        return f"not comparable ({'; '.join(compared.departures)})"
    if ours.mean is None or ours.absent:
        return f"not comparable ({len(ours.absent)} of {ours.n + len(ours.absent)} seeds have no score)"
    if agreement is None:
        return f"ours {ours.mean:.2f} from one seed, so no interval; difference {ours.mean - row.mean:+.2f}"
    low, high = agreement.interval.low, agreement.interval.high
    return (
        f"{'inside' if agreement.consistent else 'outside'}: ours {ours.mean:.2f} ± {ours.sd:.2f} (n={ours.n}), "
        f"difference {agreement.gap:+.2f}, expected from {low:+.2f} to {high:+.2f}"
    )
