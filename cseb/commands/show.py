"""The command that shows a method, a part or a record in full."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cseb.commands.screen import say_folded


def show(
    name: Annotated[str, typer.Argument(help="A method, such as simcse+ami; a part; or a record, by key or file.")],
    *,
    results: Annotated[Path, typer.Option(help="Folder of records.")] = Path("results"),
    benchmark: Annotated[
        str, typer.Option(help="Of a method: what this benchmark's scale and steps put in place of its own options.")
    ] = "",
) -> None:
    """Show a method, a part or a record in full: sources, options, deviations, published numbers; provenance."""
    from cseb.api.sources import show as shown

    say_folded(shown(name, results, benchmark=benchmark))
