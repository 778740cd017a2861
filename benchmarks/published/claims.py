"""Test claims in the text of papers against their tables: `claims.csv` lists claims, `checks.csv` how to test them.

A check compares cells of `scores.csv`. A selection of cells is written `table=2; method=ami+ct; fraction=0.1|0.01`:
column=value with * for anything, | between alternatives, ! before what is left out. The paper is that of the claim, the
variant is the method as published, unless they are named. Cells of `a` meet those of `b` that agree in encoder,
fraction, task and metric; a column that both name need not agree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import pairwise
from pathlib import Path

from cseb.errors import BadData, one_of
from cseb.papers.scores import Printed, read_table
from cseb.text import percent, quantity

MEETING = ("encoder", "fraction", "task", "metric")
COLUMNS = ("paper", "table", "setting", "method", "variant", *MEETING)
SLACK = 1e-9  # differences of decimal fractions are not exact in binary


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One way to test a claim. expect: the number that is said, where one is; text: as it is written."""

    claim: str
    kind: str
    a: Mapping[str, str]
    b: Mapping[str, str]
    text: str

    @property
    def expect(self) -> float:
        """The number that is said; 0 where none is needed."""
        return float(self.text or 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One sentence of a paper: where it stands, what it says, its number or word, and how to test it."""

    name: str
    paper: str
    location: str
    claim: str
    stated: str
    checks: tuple[Check, ...]


@dataclass(frozen=True, slots=True)
class Failed:
    """A check that does not come out: the cells at fault, and the arithmetic."""

    claim: Claim
    cells: tuple[Printed, ...]
    arithmetic: str


Pair = tuple[Printed, Printed]


def read_claims(claims: Path, checks: Path) -> list[Claim]:
    """Claims with their checks; a claim without one cannot be tested by the tables alone. Raises: BadData."""
    stated = read_table(claims)
    papers = {row["id"]: row["paper"] for row in stated}
    held: dict[str, list[Check]] = {name: [] for name in papers}
    for line, row in enumerate(read_table(checks), 2):
        where = f"{checks}, line {line}"
        if row["claim"] not in papers:
            raise BadData(f"{where}: no claim is called {row['claim']!r} in {claims}")
        one_of(tuple(CHECKS), row["check"], f"{where}: check")
        a, b = (_selection(row[side], papers[row["claim"]], where) for side in ("a", "b"))
        try:
            float(row["expect"] or 0)
        except ValueError:
            raise BadData(f"{where}: expect is {row['expect']!r}; a number or nothing belongs there") from None
        held[row["claim"]].append(Check(claim=row["claim"], kind=row["check"], a=a, b=b, text=row["expect"]))
    return [
        Claim(
            name=row["id"],
            paper=row["paper"],
            location=row["location"],
            claim=row["claim"],
            stated=row["stated"],
            checks=tuple(held[row["id"]]),
        )
        for row in stated
    ]


def contradicted(claims: Iterable[Claim], rows: Sequence[Printed]) -> list[Failed]:
    """Every check that the tables contradict. Raises: BadData for a check whose cells are not among the rows."""
    failed = []
    for claim in claims:
        for check in claim.checks:
            a, b = (_cells(rows, side) if side else [] for side in (check.a, check.b))
            if not a or (check.b and not b):
                raise BadData(f"claim {claim.name}: no cell is {check.a if not a else check.b}")
            failed += [Failed(claim, cells, message) for cells, message in CHECKS[check.kind](check, a, b, rows)]
    return failed


def _selection(text: str, paper: str, where: str) -> dict[str, str]:
    if not text:
        return {}
    found = {}
    for word in text.split(";"):
        column, _, value = (part.strip() for part in word.partition("="))
        one_of(COLUMNS, column, f"{where}: column")
        found[column] = f"Table {value}" if column == "table" else value
    return {"paper": paper, "variant": ""} | found


def _cells(rows: Sequence[Printed], wanted: Mapping[str, str]) -> list[Printed]:
    return [row for row in rows if all(_is(row, column, value) for column, value in wanted.items())]


def _is(row: Printed, column: str, value: str) -> bool:
    held = getattr(row, column)
    held = f"{held:g}" if isinstance(held, float) else held or ""
    if value.startswith("!"):
        return not _is(row, column, value[1:])
    return any(fnmatchcase(held, f"{float(each):g}" if column == "fraction" else each) for each in value.split("|"))


def _pairs(check: Check, a: Sequence[Printed], b: Sequence[Printed]) -> list[Pair]:
    keys = [key for key in MEETING if key not in check.a or key not in check.b]
    return [(x, y) for x in a for y in b if all(getattr(x, key) == getattr(y, key) for key in keys)]


def _decimals(text: str) -> int:
    return len(text.partition(".")[2])


def _minus(pair: Pair) -> float:
    return pair[0].mean - pair[1].mean


def _named(row: Printed) -> str:
    fraction = "" if row.fraction is None else f" {percent(row.fraction)}"
    return f"{row.method}{f' {row.variant}' if row.variant else ''}{fraction} {row.text}"


def _gap(pair: Pair) -> str:
    return f"{_named(pair[0])} - {_named(pair[1])} = {_minus(pair):+.2f} ({pair[0].task})"


Violations = list[tuple[tuple[Printed, ...], str]]


def _difference(check: Check, a: Sequence[Printed], b: Sequence[Printed], rows: Sequence[Printed]) -> Violations:
    """The difference a - b is the number that is said, up to its last digit."""
    unit = 10.0 ** -_decimals(check.text)
    wrong = [pair for pair in _pairs(check, a, b) if abs(_minus(pair) - check.expect) > unit + SLACK]
    return [(pair, f"{_gap(pair)}, stated {check.text}{_meant(check, pair, rows)}") for pair in wrong]


def _meant(check: Check, pair: Pair, rows: Sequence[Printed]) -> str:
    """Another row of the same table from which the stated number comes out."""
    mine, other = pair[0], pair[1]
    fits = [
        row.method
        for row in rows
        if (row.paper, row.table, row.task, row.encoder) == (other.paper, other.table, other.task, other.encoder)
        and row.fraction == other.fraction
        and abs(mine.mean - row.mean - check.expect) < SLACK
    ]
    return f", which is {mine.method} - {' or '.join(fits)}" if fits else ""


def _equals(check: Check, a: Sequence[Printed], _b: Sequence[Printed], _rows: Sequence[Printed]) -> Violations:
    """Here a is the number that is said."""
    return [((x,), f"{_named(x)}, stated {check.text}") for x in a if abs(x.mean - check.expect) > SLACK]


def _above(check: Check, a: Sequence[Printed], b: Sequence[Printed], _rows: Sequence[Printed]) -> Violations:
    """Every a is more than b + expect."""
    wrong = [pair for pair in _pairs(check, a, b) if _minus(pair) <= check.expect + SLACK]
    bound = f", not above {check.text}" if check.text else ""
    return [(pair, f"{_gap(pair)}{bound}") for pair in wrong]


def _at_least(check: Check, a: Sequence[Printed], b: Sequence[Printed], _rows: Sequence[Printed]) -> Violations:
    """No a is less than b + expect."""
    return [(pair, _gap(pair)) for pair in _pairs(check, a, b) if _minus(pair) < check.expect - SLACK]


def _at_most(check: Check, a: Sequence[Printed], b: Sequence[Printed], _rows: Sequence[Printed]) -> Violations:
    """No a is more than b + expect."""
    wrong = [pair for pair in _pairs(check, a, b) if _minus(pair) > check.expect + SLACK]
    return [(pair, f"{_gap(pair)}, stated as the most: {check.text}") for pair in wrong]


def _up_to(check: Check, a: Sequence[Printed], b: Sequence[Printed], _rows: Sequence[Printed]) -> Violations:
    """The largest a - b rounds to the number that is said."""
    most = max(_pairs(check, a, b), key=_minus)
    fits = abs(_minus(most) - check.expect) <= 0.5 * 10.0 ** -_decimals(check.text) + SLACK
    return [] if fits else [(most, f"largest: {_gap(most)}, stated {check.text}")]


def _steadier(check: Check, a: Sequence[Printed], b: Sequence[Printed], _rows: Sequence[Printed]) -> Violations:
    """The standard deviation of a is below that of b, wherever both are printed."""
    return [
        ((x, y), f"{_named(x)} ± {x.std_text}, {_named(y)} ± {y.std_text}: the deviation does not fall")
        for x, y in _pairs(check, a, b)
        if x.std is not None and y.std is not None and x.std >= y.std
    ]


def _leads(check: Check, a: Sequence[Printed], b: Sequence[Printed], _rows: Sequence[Printed]) -> Violations:
    """Here a is above every b on at least `expect` tasks; on more than half of them where no number is said."""
    pairs = _pairs(check, a, b)
    tasks = list(dict.fromkeys(x.task for x, _ in pairs))
    led = [task for task in tasks if all(_minus(pair) > 0 for pair in pairs if pair[0].task == task)]
    enough = check.expect if check.text else len(tasks) / 2 + 0.5
    return (
        [] if len(led) >= enough else [((*a[:1],), f"{a[0].method} leads {len(led)} of {quantity(len(tasks), 'task')}")]
    )


def _trend(sign: int) -> Callable[[Check, Sequence[Printed], Sequence[Printed], Sequence[Printed]], Violations]:
    def trend(check: Check, a: Sequence[Printed], b: Sequence[Printed], _rows: Sequence[Printed]) -> Violations:
        """a, or a - b where there is a b, rises (or falls) with the fraction of the corpus."""
        gains = [(x.fraction, _minus((x, y)), x) for x, y in _pairs(check, a, b)] if b else [
            (x.fraction, x.mean, x) for x in a
        ]  # fmt: skip
        gains.sort(key=lambda gain: gain[0] or 0.0)
        steps = pairwise(gains)
        if all(sign * (after[1] - before[1]) > 0 for before, after in steps):
            return []
        shown = ", ".join(f"{value:{'+' if b else ''}.2f} at {percent(fraction or 0)}" for fraction, value, _ in gains)
        over = f" - {check.b['method']}" if b else ""
        return [(tuple(x for _, _, x in gains), f"{check.a['method']}{over}: {shown}")]

    return trend


def _significant(check: Check, a: Sequence[Printed], b: Sequence[Printed], _rows: Sequence[Printed]) -> Violations:
    """Here a is above b, and further than five seeds scatter: Welch's t at the level of 5 %. The closest b is told."""
    closest = min(_pairs(check, a, b), key=_minus)
    x, y = closest
    if x.std is None or y.std is None or not (x.n_seeds and y.n_seeds and min(x.n_seeds, y.n_seeds) > 1):
        return [(closest, f"called significant: {_gap(closest)}; no deviation over runs is printed")]
    if x.std == y.std == 0:
        return [] if _minus(closest) > 0 else [(closest, f"called significant: {_gap(closest)}")]
    from scipy.stats import ttest_ind_from_stats

    p = float(ttest_ind_from_stats(x.mean, x.std, x.n_seeds, y.mean, y.std, y.n_seeds, equal_var=False).pvalue)
    return [] if _minus(closest) > 0 and p < 0.05 else [(closest, f"called significant: {_gap(closest)}, p = {p:.2g}")]


CHECKS: Mapping[str, Callable[[Check, Sequence[Printed], Sequence[Printed], Sequence[Printed]], Violations]] = {
    "difference": _difference,
    "equals": _equals,
    "above": _above,
    "at-least": _at_least,
    "at-most": _at_most,
    "up-to": _up_to,
    "steadier": _steadier,
    "leads": _leads,
    "rises": _trend(1),
    "falls": _trend(-1),
    "significant": _significant,
}
