"""The text of one cell: a number, its spread, and the number of seeds."""

from __future__ import annotations

from cseb.analysis.stats import Cell, Spread
from cseb.reports.document import BEST

ROUNDING = 1e-9  # seeds whose scores differ by less have the same score


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
    half = {"std": cell.sd, "ci95": cell.ci95, "sem": cell.sem}[spread]
    return f"{mean} ± {half:.2f}"


def remarks(cell: Cell, *, signed: bool = False) -> list[str]:
    """Return the number of seeds if some are absent, and the reasons; of collapsed ones also the median and IQM."""
    if not cell.absent:
        return []
    counts = {"failed": cell.failed, "collapsed": cell.collapsed, "missing": cell.missing}
    seeds = [f"n={cell.n}"] if cell.n else []
    texts = [", ".join([*seeds, *(f"{count} {reason}" for reason, count in counts.items() if count)])]
    if cell.collapsed and cell.n and not signed:
        for name, value in (("median", cell.median), ("IQM", cell.iqm)):
            texts.append(f"{name} --" if value is None else f"{name} {value:.2f}")
    return texts
