"""The text of one cell: a number, its spread, and what it rests on."""

from __future__ import annotations

from cseb.analysis.stats import Cell, Spread
from cseb.reports.document import BEST


def figures(cell: Cell, between: str = " ", spread: Spread = "std", *, signed: bool = False) -> str:
    """`72.31 ± 0.40 (n=4, 1 failed)`, with `between` before the bracket; signed: of a difference."""
    if not cell.values and not cell.absent:
        return ""
    shown = number(cell, spread, signed=signed) + (BEST if cell.best else "")
    return between.join([shown, *(f"({said})" for said in remarks(cell, signed=signed))])


def number(cell: Cell, spread: Spread = "std", *, signed: bool = False) -> str:
    """`72.31 ± 0.40`, `72.31 [71.80, 73.02]`, `--`, or nothing where nothing was asked for."""
    if cell.mean is None:
        return "--" if cell.absent else ""
    sign = "+z" if signed else "z"  # z: no minus before 0.00
    mean = f"{cell.mean:{sign}.2f}"
    if spread == "range":
        return mean if cell.range is None else f"{mean} [{cell.range[0]:{sign}.2f}, {cell.range[1]:{sign}.2f}]"
    half = {"std": lambda: cell.sd, "ci95": lambda: cell.ci95, "sem": lambda: cell.sem}[spread]()
    return mean if half is None else f"{mean} ± {half:.2f}"


def remarks(cell: Cell, *, signed: bool = False) -> list[str]:
    """How many seeds there are, how many are not and why; then what a collapsed seed leaves of the middle."""
    counts = {"failed": cell.failed, "collapsed": cell.collapsed, "missing": cell.missing}
    seeds = [f"n={cell.n}"] if cell.n else []
    seeds += [f"{count} {what}" for what, count in counts.items() if count]
    found = [", ".join(seeds)]
    if cell.collapsed and cell.n and not signed:
        found += [f"median {_points(cell.median)}", f"IQM {_points(cell.iqm)}"]
    return found


def _points(value: float | None) -> str:
    return "--" if value is None else f"{value:.2f}"
