"""Fingerprints of code that was rewritten and still computes the same: records of both may stand in one table.

A fingerprint tells two computations apart by their syntax, so that moving a function changes it. Where records that
were made before have been run again afterwards and every score is equal to the last bit, a row of equal_code.csv says
so, with what shows it; a record keeps the fingerprint that it was made with.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

TABLE = Path(__file__).with_name("equal_code.csv")


class Equal(NamedTuple):
    """A row: the part, trainer, encoder or module of tasks; its code before and after; what shows that they agree."""

    name: str
    before: str
    after: str
    shown_by: str


@cache
def rows() -> tuple[Equal, ...]:
    """All rows, oldest first."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        return tuple(Equal(**row) for row in csv.DictReader(file))


def latest(name: str, fingerprint: str) -> str:
    """The newest code of `name` that computes what this one does; the same fingerprint where none is known."""
    known = _latest()
    while (name, fingerprint) in known:
        fingerprint = known[name, fingerprint].after
    return fingerprint


def shown_by(name: str, fingerprint: str) -> str:
    """What shows that newer code of `name` computes the same as this one; "" where there is none."""
    row = _latest().get((name, fingerprint))
    return row.shown_by if row else ""


@cache
def _latest() -> Mapping[tuple[str, str], Equal]:
    return {(row.name, row.before): row for row in rows()}
