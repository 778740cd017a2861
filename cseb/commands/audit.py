"""The command that looks for what cannot be in tables of published numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cseb.commands.screen import say
from cseb.errors import one_of


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
    from cseb.papers.audit_report import FORMATS, audited

    write = FORMATS[one_of(FORMATS, format, "--format")]
    found = audited(files or (), claims, checks)
    say(write(found), nl=False)
    raise typer.Exit(1 if found.findings and not exit_zero else 0)
