"""The command that lists what there is."""

from __future__ import annotations

from typing import Annotated

import typer

from cseb.commands.screen import say, say_folded


def list_(
    kind: Annotated[str, typer.Argument(help="methods, parts, tasks, encoders or benchmarks.")],
) -> None:
    """List what there is: methods, parts, tasks, encoders or benchmarks."""
    from cseb.explain import describe
    from cseb.registry import left_out
    from cseb.reports.text_table import aligned

    say_folded("\n".join(aligned(describe.listing(kind))))
    for line in left_out():
        say(f"cseb: {line}", err=True)
