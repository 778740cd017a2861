"""What an audit of printed numbers has found, written for a screen, a page or a program."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from cseb.data import shipped
from cseb.errors import BadBenchmark
from cseb.papers.audit import KINDS, Finding, audit, read
from cseb.papers.claims import read_claims
from cseb.text import csv_row, json_text, quantity

SHIPPED = "published"  # stands for the file of the five papers


@dataclass(frozen=True, slots=True)
class Audit:
    """Findings in so many printed numbers. tested: sentences held against them; untested: those no table can test."""

    findings: Sequence[Finding]
    numbers: int
    tested: int
    untested: Sequence[str]

    @property
    def summary(self) -> str:
        """One line."""
        claims = f" and {quantity(self.tested, 'sentence')}" if self.tested else ""
        rest = f"; not to be tested by tables alone: {', '.join(self.untested)}" if self.untested else ""
        return f"{quantity(len(self.findings), 'finding')} in {quantity(self.numbers, 'number')}{claims}{rest}"

    def by_kind(self) -> Iterator[tuple[str, str, list[Finding]]]:
        """(kind, what it means, its findings) for each kind that was found."""
        for kind, meaning in KINDS.items():
            if held := [one for one in self.findings if one.kind == kind]:
                yield kind, meaning, held


def audited(files: Sequence[str] = (), claims: Path | None = None, checks: Path | None = None) -> Audit:
    """The audit of CSV files of printed numbers, by default `SHIPPED`, and of sentences with how to test them.

    Raises: BadBenchmark, BadData.
    """
    if (claims is None) != (checks is None):
        raise BadBenchmark("--claims and --checks go together: what is said, and how to test it")
    names = files or [SHIPPED]
    rows = read(shipped.published("scores") if name == SHIPPED else Path(name) for name in names)
    claims_read = read_claims(claims, checks) if claims and checks else []
    if SHIPPED in names:
        claims_read += read_claims(shipped.published("claims"), shipped.published("checks"))
    untested = [one.name for one in claims_read if not one.checks]
    return Audit(audit(rows, claims_read), len(rows), len(claims_read) - len(untested), untested)


def _terminal(found: Audit) -> str:
    """Under each kind a line for where and what, and one for the arithmetic."""
    lines = []
    for kind, meaning, held in found.by_kind():
        lines.append(f"{kind}, {len(held)}: {meaning}")
        lines += [f"  {one.where}: {one.cell}: {one.printed}\n    {one.why}" for one in held]
        lines.append("")
    return "\n".join([*lines, found.summary, ""])


def _markdown(found: Audit) -> str:
    lines = []
    for kind, meaning, held in found.by_kind():
        lines += [f"## {kind}: {len(held)}", "", f"{meaning[:1].upper()}{meaning[1:]}.", ""]
        lines += ["| where | cell | printed | why |", "| --- | --- | --- | --- |"]
        lines += [f"| {' | '.join(map(_cell, (one.where, one.cell, one.printed, one.why)))} |" for one in held]
        lines.append("")
    return "\n".join([*lines, found.summary, ""])


def _cell(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ")


def _csv(found: Audit) -> str:
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, [field.name for field in fields(Finding)], lineterminator="\n")
    writer.writeheader()
    writer.writerows(csv_row(asdict(one)) for one in found.findings)
    return buffer.getvalue()


def _json(found: Audit) -> str:
    return json_text({"summary": found.summary, "findings": [asdict(one) for one in found.findings]}) + "\n"


FORMATS: Mapping[str, Callable[[Audit], str]] = {
    "terminal": _terminal,
    "markdown": _markdown,
    "csv": _csv,
    "json": _json,
}
