"""Do we reproduce the paper? Our seeds foretell where one more run would lie; a published number lies there or not.

A published single run is held against the prediction interval mean ± t s sqrt(1 + 1/n); a published mean with its
deviation over m seeds against the interval of the difference of two means with unequal variances (Welch 1947).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import sqrt

from cseb.analysis.stats import Cell, cell
from cseb.papers.printed import Printed
from cseb.papers.scores import departures, encoder_id, nearest_average, own_rows, printed_names, published
from cseb.records.record import RecordSummary, Select
from cseb.regression.check_results import CheckResult
from cseb.text import percent, plain

LEVEL = 0.95


def reproduced(records: Iterable[RecordSummary]) -> list[CheckResult]:
    """One answer for each method, fraction, checkpoint and published value: inside, outside, or why not."""
    groups: dict[tuple[str, int, str, str], list[RecordSummary]] = {}
    for one in records:
        groups.setdefault((one.method, one.subset.size, one.encoder.sha256, one.corpus.sha256), []).append(one)
    return [answer for group in groups.values() for answer in _group(group)]


def prediction(mean: float, sd: float, n: int) -> tuple[float, float]:
    """Where one more run lies in 95 of 100 cases, from the mean and sample deviation of n >= 2 runs."""
    from scipy.stats import t

    half = float(t.ppf(0.5 + LEVEL / 2, n - 1)) * sd * sqrt(1 + 1 / n)
    return mean - half, mean + half


def welch(ours: tuple[float, float, int], theirs: tuple[float, float, int]) -> tuple[float, float]:
    """The interval of the difference of two means, each given with its sample deviation and its n >= 2 runs."""
    from scipy.stats import t

    (a, sd_a, n_a), (b, sd_b, n_b) = ours, theirs
    u, v = sd_a**2 / n_a, sd_b**2 / n_b
    if u + v == 0:
        return a - b, a - b
    freedom = (u + v) ** 2 / (u**2 / (n_a - 1) + v**2 / (n_b - 1))
    half = float(t.ppf(0.5 + LEVEL / 2, freedom)) * sqrt(u + v)
    return a - b - half, a - b + half


def _group(records: Sequence[RecordSummary]) -> list[CheckResult]:
    one = records[0]
    selects: list[Select] = sorted({score.select for each in records for score in each.scores})
    runs = {each.seed: each for each in records}
    return [
        _result(one, select, cell(runs, sorted(runs), tasks, select), row, tasks)
        for select in selects
        for row, tasks in printed_for(one)
    ]


def printed_for(record: RecordSummary) -> list[tuple[Printed, tuple[str, ...]]]:
    """Every number that papers print for what a record measured, with the tasks of the record it stands beside.

    Averages first, then tasks that are in none of them. On an encoder that no paper has, so that nothing compares
    anyway, all tasks stand beside the average that measures the same: what is not as in the paper is then told.
    """
    found = [
        (row, tasks)
        for name, tasks in printed_names(record.protocol.tasks).items()
        for row in published(record.method, name, record.subset.fraction, record.encoder.name)
    ]
    if found or encoder_id(record.encoder.name):
        return found
    near = nearest_average(record)
    rows = [row for row in own_rows(record.method) if row.task == near]
    return [(row, record.protocol.tasks) for row in rows if row.fraction in (None, record.subset.fraction)]


def _result(one: RecordSummary, select: Select, ours: Cell, row: Printed, tasks: Sequence[str]) -> CheckResult:
    spread = f" ± {row.std_text} (n={row.n_seeds})" if row.std_text else ""
    theirs = f"{row.where}: {row.text}{spread}" + (f" [{row.flag}]" if row.flag else "")
    name = f"{plain(one.method)} {percent(one.subset.fraction)} {select}"
    name += "" if row.task == "sts-avg" else f" {row.task}"
    ok, message = _judged(one, select, ours, row, tasks)
    return CheckResult(question="paper", cell=name, ok=ok, text=f"{theirs}; {message}", moved=True)


def _judged(
    one: RecordSummary, select: Select, ours: Cell, row: Printed, tasks: Sequence[str]
) -> tuple[bool | None, str]:
    if reasons := departures(one, select, row, tasks):
        return None, f"not comparable ({'; '.join(reasons)})"
    if ours.mean is None or ours.absent:
        return None, f"not comparable ({len(ours.absent)} of {ours.n + len(ours.absent)} seeds have no score)"
    gap = ours.mean - row.mean
    if ours.sd is None:
        return None, f"ours {ours.mean:.2f} from one seed has no interval; gap {gap:+.2f}"
    if row.std is not None and (row.n_seeds or 0) > 1:
        low, high = welch((ours.mean, ours.sd, ours.n), (row.mean, row.std, row.n_seeds or 0))
        inside, interval = low <= 0 <= high, f"difference {gap:+.2f} [{low:.2f}, {high:.2f}]"
    else:
        low, high = prediction(ours.mean, ours.sd, ours.n)
        inside, interval = low <= row.mean <= high, f"interval of one more run [{low:.2f}, {high:.2f}]"
    how = "inside" if inside else f"outside by {gap:+.2f} points"
    sds = f", {abs(gap) / ours.sd:.1f} sd" if ours.sd and not inside else ""
    return inside, f"{how}{sds}: ours {ours.mean:.2f} ± {ours.sd:.2f} (n={ours.n}), {interval}"
