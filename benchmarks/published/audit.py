"""Find impossible or inconsistent numbers in published tables.

    python -m benchmarks.published.audit [FILE ...]

Without files, the scores of the five papers (`scores.csv`) and the claims of their text (`claims.csv`, `checks.csv`)
are audited. A file needs the columns method, task and mean; the other columns of `scores.csv` are optional. The exit
code is 1 if anything is found, 2 if a file cannot be read.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from math import ceil, floor
from pathlib import Path

from benchmarks.published.claims import Claim, contradicted, read_claims
from cseb.errors import CsebError
from cseb.papers.scores import Printed, read_scores, read_table
from cseb.registry import TASK_GROUPS
from cseb.text import percent, quantity

KINDS = {
    "average": "averages further from the mean of their cells than rounding can take them",
    "rounding": "averages that are not those of the printed cells, but may be those of unrounded ones",
    "granularity": "accuracies that no run on so many test items can give",
    "corrupted-subj": "SUBJ near 99.60: what the copy with 20 instead of 5,000 subjective lines gives to any encoder",
    "range": "values outside what their metric can be",
    "deviation": "standard deviations that cannot be, or of an unknown number of runs",
    "disagreement": "one method under one setting, printed with several values",
    "claim": "sentences that the tables contradict or do not bear out",
}

# Averages that the papers report, and their tasks.
AVERAGES = {"sts-avg": TASK_GROUPS["sts"], "transfer-avg": TASK_GROUPS["transfer"]}
# Items of the test sets that are one fixed split; the others are cross-validated, and move in steps finer than 0.01.
TEST_ITEMS = {"trec": 500, "mrpc": 1725, "sst2": 1821}
# princeton-nlp/SimCSE#84: with 20 of 5,000 subjective lines, saying `objective` to everything is right 5000 of 5020
# times. Pre-trained encoders otherwise lie between 93 and 97.
SUBJ_MARK, SUBJ_NEAR = 100 * 5000 / 5020, 0.1

FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that cannot be. kind: of KINDS; where: paper and table; printed: the number; why: the arithmetic."""

    kind: str
    where: str
    cell: str
    printed: str
    why: str


def read(paths: Iterable[Path]) -> list[Printed]:
    """The rows of all files; one without a column `paper` is a paper of its own. Raises: BadData."""
    return [replace(row, paper=row.paper or path.stem) for path in paths for row in read_scores(path)]


def audit(rows: Sequence[Printed], claims: Iterable[Claim] = ()) -> list[Finding]:
    """Everything found, in the order of KINDS and, inside a kind, of the rows. Raises: BadData for bad checks."""
    found = [finding for check in CHECKS for finding in check(rows)]
    found += [
        Finding(
            kind="claim",
            where=f"{failed.claim.paper}, {failed.claim.location}",
            cell=f"{failed.claim.name}: {failed.claim.claim}",
            printed=failed.claim.stated,
            why=f"{failed.cells[0].table}: {failed.arithmetic}",
        )
        for failed in contradicted(claims, rows)
    ]
    order = list(KINDS)
    return sorted(found, key=lambda finding: order.index(finding.kind))


def averages(rows: Sequence[Printed]) -> Iterator[Finding]:
    """Averages against the mean of their cells, all of them printed with the same decimals or worse.

    Cells rounded to a unit of the last digit leave their mean half a unit of play, and printing it another half.
    """
    held: dict[tuple[object, ...], dict[str, Printed]] = {}
    for row in rows:
        held.setdefault((row.row, row.setting), {})[row.task] = row
    for tasks in held.values():
        for name, parts in AVERAGES.items():
            if name in tasks and all(part in tasks for part in parts):
                yield from _average(tasks[name], [tasks[part] for part in parts])


def _average(average: Printed, cells: Sequence[Printed]) -> Iterator[Finding]:
    mean = sum((Fraction(cell.text) for cell in cells), Fraction()) / len(cells)
    cell_unit, unit = max(map(_unit, cells)), _unit(average)
    gap = Fraction(average.text) - mean
    if abs(gap) <= unit / 2:
        return
    message = f"mean of {quantity(len(cells), 'cell')} {float(mean):.4f}, difference {float(gap):+.4f}"
    kind = "rounding" if abs(gap) <= (unit + cell_unit) / 2 else "average"
    yield _finding(kind, average, f"{message}; rounding leaves {float((unit + cell_unit) / 2):g}")


def granularity(rows: Sequence[Printed]) -> Iterator[Finding]:
    """Accuracies on a fixed test set move in steps of 100 / items, their mean over n runs in steps of 100 / (n items).

    Only what is printed for at least one run is judged; means over an unknown number of runs count as one run.
    """
    for row in rows:
        items = TEST_ITEMS.get(row.task)
        if items and row.metric in ("", "accuracy"):
            value, total = Fraction(row.text), items * (row.n_seeds or 1)
            low, high = (Fraction(whole(value * total / 100) * 100, total) for whole in (floor, ceil))
            if min(value - low, high - value) > _unit(row) / 2:
                runs = f"{row.n_seeds} runs on " if row.n_seeds and row.n_seeds > 1 else ""
                near = f"{floor(value * total / 100)} right are {float(low):.3f}, one more {float(high):.3f}"
                yield _finding("granularity", row, f"{runs}{quantity(items, 'item')}: {near}")


def corrupted(rows: Sequence[Printed]) -> Iterator[Finding]:
    """The mark of the damaged copy of SUBJ."""
    for row in rows:
        if row.task == "subj" and row.metric in ("", "accuracy") and abs(row.mean - SUBJ_MARK) <= SUBJ_NEAR:
            yield _finding("corrupted-subj", row, f"5000 of 5020 is {SUBJ_MARK:.2f}")


def ranges(rows: Sequence[Printed]) -> Iterator[Finding]:
    """Correlations in points lie in [-100, 100], everything else in [0, 100]; the top 3 hold the top 1."""
    for row in rows:
        low = -100 if row.metric in ("", "spearman", "pearson") else 0
        if not low <= row.mean <= 100:
            yield _finding("range", row, f"{row.metric or 'a value in points'} lies between {low} and 100")
    held = {(row.row, row.setting, row.task, row.metric): row for row in rows}
    for (place, setting, task, metric), row in held.items():
        for less in ("top1", "top3") if metric in ("top3", "top5") else ():
            other = held.get((place, setting, task, less))
            if other is not None and other.mean > row.mean:
                yield _finding("range", row, f"less than {less}, which is {other.text}")


def deviations(rows: Sequence[Printed]) -> Iterator[Finding]:
    """A standard deviation needs two runs, is not negative, and of n values in [0, 100] at most 50 sqrt(n / (n-1))."""
    for row in rows:
        if row.std is None:
            continue
        if row.std < 0:
            yield _finding("deviation", row, "a standard deviation is not negative")
        elif row.n_seeds is None:
            yield _finding("deviation", row, "of how many runs is not said")
        elif row.n_seeds == 1:
            yield _finding("deviation", row, "one run has no standard deviation")
        else:
            low = -100 if row.metric in ("", "spearman", "pearson") else 0
            room = (row.mean - low) * (100 - row.mean) * row.n_seeds / (row.n_seeds - 1)
            if row.std**2 > max(room, 0):
                most = f"{max(room, 0) ** 0.5:.2f}"
                yield _finding("deviation", row, f"{row.n_seeds} values with this mean scatter by {most} at most")


def disagreements(rows: Sequence[Printed]) -> Iterator[Finding]:
    """One method, encoder, fraction and metric with different values for the same task, in whatever table."""
    held: dict[tuple[object, ...], dict[str, list[Printed]]] = {}
    for row in rows:
        variant = "" if (row.method, row.variant, row.encoder) in same_variants() else row.variant
        place = (row.method, variant, row.encoder, row.fraction, row.metric)
        held.setdefault(place, {}).setdefault(row.task, []).append(row)
    for tasks in held.values():
        shared = {task: cells for task, cells in tasks.items() if len(cells) > 1}
        apart = {task: cells for task, cells in shared.items() if _differ(cells)}
        if apart:
            yield _disagreement(shared, apart)


@cache
def same_variants() -> frozenset[tuple[str, str, str]]:
    """Return (method, variant, encoder) of variants that are the method as published under another name."""
    rows = read_table(FOLDER / "same_variants.csv")
    return frozenset((row["method"], row["variant"], row["encoder"]) for row in rows)


def _disagreement(shared: Mapping[str, list[Printed]], apart: Mapping[str, list[Printed]]) -> Finding:
    """Told by the average if that differs, else by the cell that differs most."""
    widest = max(apart, key=lambda task: _spread(apart[task]))
    shown = next((task for task in apart if task.endswith("-avg")), widest)
    places: dict[str, list[str]] = {}
    for row in apart[shown]:
        places.setdefault(row.text, []).append(row.where)
    values = "; ".join(f"{text} in {' and '.join(where)}" for text, where in places.items())
    most = f", most on {widest} ({_spread(apart[widest]):.2f})" if widest != shown else ""
    row = apart[shown][0]
    why = f"{values}; differing cells: {len(apart)} of {len(shared)} shared{most}"
    papers = " / ".join(dict.fromkeys(row.paper for row in apart[shown]))
    return replace(_finding("disagreement", row, why), where=papers, printed=" / ".join(places))


def _differ(cells: Sequence[Printed]) -> bool:
    """Whether some two values are not the same number, the less exact of them rounded."""
    return any(abs(a.mean - b.mean) > float(max(_unit(a), _unit(b))) / 2 + 1e-9 for a in cells for b in cells)


def _spread(cells: Sequence[Printed]) -> float:
    values = [cell.mean for cell in cells]
    return max(values) - min(values)


def _unit(row: Printed) -> Fraction:
    """One in the last digit that is printed."""
    digits: int = len(row.text.partition(".")[2])
    return Fraction(1, 10**digits)


def _finding(kind: str, row: Printed, why: str) -> Finding:
    fraction = "" if row.fraction is None else percent(row.fraction)
    cell = " ".join(filter(None, (row.method, row.variant, row.encoder, fraction, row.task, row.metric)))
    printed = row.text + (f" ± {row.std_text}" if row.std_text else "")
    return Finding(kind=kind, where=row.where, cell=cell, printed=printed, why=why)


CHECKS: tuple[Callable[[Sequence[Printed]], Iterator[Finding]], ...] = (
    averages,
    granularity,
    corrupted,
    ranges,
    deviations,
    disagreements,
)


def five_papers() -> tuple[list[Printed], list[Claim]]:
    """Return the scores of the five papers and the claims of their text."""
    return read([FOLDER / "scores.csv"]), read_claims(FOLDER / "claims.csv", FOLDER / "checks.csv")


def text_of(findings: Sequence[Finding], n_scores: int, claims: Sequence[Claim]) -> str:
    """Return the findings by kind, two lines each, and a summary."""
    lines = []
    for kind, meaning in KINDS.items():
        if of_kind := [finding for finding in findings if finding.kind == kind]:
            lines.append(f"{kind}, {len(of_kind)}: {meaning}")
            lines += [f"  {each.where}: {each.cell}: {each.printed}\n    {each.why}" for each in of_kind]
            lines.append("")
    untested = [claim.name for claim in claims if not claim.checks]
    tested = f" and {quantity(len(claims) - len(untested), 'sentence')}" if claims else ""
    rest = f"; tables alone cannot test {', '.join(untested)}" if untested else ""
    return "\n".join([*lines, f"{quantity(len(findings), 'finding')} in {quantity(n_scores, 'number')}{tested}{rest}"])


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the audit of the files named on the command line and return the exit code."""
    parser = argparse.ArgumentParser(description="Find impossible or inconsistent numbers in published tables.")
    parser.add_argument("files", nargs="*", type=Path, help="CSV files of scores; default: those of the five papers")
    files = parser.parse_args(arguments).files
    try:
        rows, claims = (read(files), []) if files else five_papers()
        findings = audit(rows, claims)
    except CsebError as error:
        print(error, file=sys.stderr)
        return 2
    print(text_of(findings, len(rows), claims))
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
