"""The command that looks for what cannot be in tables of published numbers."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cseb.cli.screen import say
from cseb.errors import BadBenchmark, one_of
from cseb.text import csv_row, json_text

if TYPE_CHECKING:
    from cseb.papers.audit import Finding

SHIPPED = "published"  # stands for the file of the five papers


def audit(
    files: Annotated[
        list[str] | None, typer.Argument(help="CSV files of printed numbers; published is that of the five papers.")
    ] = None,
    *,
    claims: Annotated[Path | None, typer.Option(help="A CSV file of claims: id,paper,location,claim,stated.")] = None,
    checks: Annotated[Path | None, typer.Option(help="How to test them: claim,check,a,b,expect.")] = None,
    format: Annotated[str, typer.Option("--format", "-f", help="terminal, markdown, csv or json.")] = "terminal",
    exit_zero: Annotated[bool, typer.Option("--exit-zero", help="Exit with 0 whatever is found.")] = False,
) -> None:
    """Find impossible or inconsistent numbers in published tables; exit code 1 if there are any.

    Averages that are not those of their row, accuracies that no run can give, the mark of the damaged SUBJ file, one
    method with several values, impossible deviations, and claims in the text that the tables contradict. Columns of a
    file: method,task,mean and, where there are any, paper,table,setting,variant,encoder,fraction,metric,std,n_seeds.
    """
    from cseb.data import shipped
    from cseb.papers import audit as auditing
    from cseb.papers.claims import read_claims

    render = FORMATS[one_of(tuple(FORMATS), format, "--format")]
    if (claims is None) != (checks is None):
        raise BadBenchmark("--claims and --checks go together: what is said, and how to test it")
    names = files or [SHIPPED]
    rows = auditing.read(shipped.published("scores") if name == SHIPPED else Path(name) for name in names)
    said = read_claims(claims, checks) if claims and checks else []
    if SHIPPED in names:
        said += read_claims(shipped.published("claims"), shipped.published("checks"))
    found = auditing.audit(rows, said)
    untested = [one.name for one in said if not one.checks]
    say(render(found, _summary(len(rows), len(said) - len(untested), untested, len(found))), nl=False)
    raise typer.Exit(1 if found and not exit_zero else 0)


def _summary(rows: int, tested: int, untested: Sequence[str], found: int) -> str:
    claims = f" and {tested} sentences" if tested else ""
    rest = f"; not to be tested by tables alone: {', '.join(untested)}" if untested else ""
    return f"{found} findings in {rows} numbers{claims}{rest}"


def _terminal(found: Sequence[Finding], summary: str) -> str:
    """Under each kind a line for where and what, and one for the arithmetic."""
    from cseb.papers.audit import KINDS

    lines = []
    for kind, meaning in KINDS.items():
        if held := [finding for finding in found if finding.kind == kind]:
            lines.append(f"{kind}, {len(held)}: {meaning}")
            lines += [f"  {one.where}: {one.cell}: {one.printed}\n    {one.why}" for one in held]
            lines.append("")
    return "\n".join([*lines, summary, ""])


def _markdown(found: Sequence[Finding], summary: str) -> str:
    from cseb.papers.audit import KINDS

    lines = []
    for kind, meaning in KINDS.items():
        if held := [finding for finding in found if finding.kind == kind]:
            lines += [f"## {kind}: {len(held)}", "", f"{meaning[:1].upper()}{meaning[1:]}.", ""]
            lines += ["| where | cell | printed | why |", "| --- | --- | --- | --- |"]
            lines += [f"| {' | '.join(map(_cell, (one.where, one.cell, one.printed, one.why)))} |" for one in held]
            lines.append("")
    return "\n".join([*lines, summary, ""])


def _cell(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ")


def _csv(found: Sequence[Finding], _summary: str) -> str:
    from cseb.papers.audit import Finding

    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, [field.name for field in fields(Finding)], lineterminator="\n")
    writer.writeheader()
    writer.writerows(csv_row(asdict(one)) for one in found)
    return buffer.getvalue()


def _json(found: Sequence[Finding], summary: str) -> str:
    return json_text({"summary": summary, "findings": [asdict(one) for one in found]}) + "\n"


FORMATS = {"terminal": _terminal, "markdown": _markdown, "csv": _csv, "json": _json}
