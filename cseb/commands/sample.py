"""The command that draws sentences as a run does."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cseb.commands.options import DataDir, Hushed
from cseb.commands.screen import pour, say
from cseb.commands.waiting import telling
from cseb.text import quantity


def sample(
    corpus: Annotated[str, typer.Argument(help="A file, wikipedia, microworld:COUNT, or hub:OWNER/NAME/FILE.")],
    *,
    fraction: Annotated[float | None, typer.Option(help="Fraction of the corpus, in (0, 1].")] = None,
    size: Annotated[int | None, typer.Option(min=1, help="Number of sentences.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="The seed that draws them, as in `cseb run`.")] = 0,
    column: Annotated[
        str, typer.Option(help="Column of a table's sentences, or several: anchor=title,positive=body.")
    ] = "",
    data_dir: DataDir = "",
    out: Annotated[Path | None, typer.Option(help="File to write; a manifest is written next to it.")] = None,
    quiet: Hushed = False,
) -> None:
    """Write the sentences that a run with this seed trains on."""
    from cseb.api.sources import sample as drawn
    from cseb.api.sources import write_sample

    if out is None:
        with telling(quiet):
            sentences = drawn(corpus, fraction=fraction, size=size, seed=seed, column=column, data_dir=data_dir)
        pour(sentences)
        return
    with telling(quiet):
        written = write_sample(out, corpus, fraction=fraction, size=size, seed=seed, column=column, data_dir=data_dir)
    beside = f", what they are in {written.manifest}" if written.manifest else ""
    say(f"{written.size:,} of {quantity(written.corpus, 'sentence')} in {out}{beside}")
