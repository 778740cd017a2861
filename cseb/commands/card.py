"""The command that prints the model card of a run."""

from __future__ import annotations

from typing import Annotated

import typer

from cseb.commands.options import DEFAULT, DataDir, Hushed, Licence, Records
from cseb.commands.screen import say
from cseb.commands.waiting import telling


def card(
    record: Annotated[str, typer.Argument(help="A record, by its key or file.")],
    *,
    results: Records = DEFAULT,
    data_dir: DataDir = "",
    licence: Licence = "",
    quiet: Hushed = False,
) -> None:
    """Print the model card of a run: YAML for the Hugging Face hub, scores with intervals, data seen, how to repeat it.

    The folder of an encoder that `cseb run --save-models` kept has it as README.md.
    """
    from cseb.api.card import card as written

    with telling(quiet):
        text = written(record, results, data_dir=data_dir, licence=licence)
    say(text, nl=False)
