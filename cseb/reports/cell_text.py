"""The text of one cell: a number, its spread, and the seeds it rests on."""

from __future__ import annotations

from cseb.analysis.stats import Cell, Spread
from cseb.reports.document import BEST

ROUNDING = 1e-9  # points; seeds that differ by less have the same score


def figures(cell: Cell, between: str = " ", spread: Spread = "std", *, signed: bool = False) -> str:
    """Return `72.31 ± 0.40 (n=4, 1 failed)`, with `between` before the bracket; signed: of a difference."""
    if not cell.values and not cell.absent:
        return ""
    shown = number(cell, spread, signed=signed) + (BEST if cell.best else "")
    return between.join([shown, *(f"({remark})" for remark in remarks(cell, signed=signed))])


def number(cell: Cell, spread: Spread = "std", *, signed: bool = False) -> str:
    """Return `72.31 ± 0.40`, `72.31 [71.80, 73.02]`, `72.31` if seeds do not differ, `--`, or "" for an empty cell."""
    if cell.mean is None:
        return "--" if cell.absent else ""
    sign = "+z" if signed else "z"  # z: no minus before 0.00
    mean = f"{cell.mean:{sign}.2f}"
    if cell.sd is None or cell.sd < ROUNDING:
        return mean
    if spread == "range":
        return mean if cell.range is None else f"{mean} [{cell.range[0]:{sign}.2f}, {cell.range[1]:{sign}.2f}]"
    half = cell.sd if spread == "std" else cell.ci95 if spread == "ci95" else cell.sem
    return f"{mean} ± {half:.2f}"


def remarks(cell: Cell, *, signed: bool = False) -> list[str]:
    """Return how many seeds a cell has if some are absent, and why they are; for a collapsed one the median and IQM."""
    if not cell.absent:
        return []
    counts = {"failed": cell.failed, "collapsed": cell.collapsed, "missing": cell.missing}
    seeds = [f"n={cell.n}"] if cell.n else []
    seeds += [f"{count} {reason}" for reason, count in counts.items() if count]
    texts = [", ".join(seeds)]
    if cell.collapsed and cell.n and not signed:
        texts += [f"median {_points(cell.median)}", f"IQM {_points(cell.iqm)}"]
    return texts


def _points(value: float | None) -> str:
    return "--" if value is None else f"{value:.2f}"
