"""The command that looks for texts of tasks among training sentences."""

from __future__ import annotations

from typing import Annotated

import typer

from cseb.commands.options import DataDir, Hushed
from cseb.commands.screen import say
from cseb.commands.waiting import telling
from cseb.text import plain, quantity


def overlap(
    corpus: Annotated[str, typer.Argument(help="A file, wikipedia, microworld:COUNT, or hub:OWNER/NAME/FILE.")],
    *,
    tasks: Annotated[str, typer.Option(help="Such as sts or stsb,sickr, or a file of your own.")] = "sts",
    data_dir: DataDir = "",
    column: Annotated[
        str, typer.Option(help="Column of a table's sentences, or several: anchor=title,positive=body.")
    ] = "",
    near: Annotated[
        float, typer.Option(help="Jaccard similarity of words from which texts are near-duplicates, in (0, 1].")
    ] = 0.8,
    show: Annotated[int, typer.Option(min=0, help="How many examples to print of each task.")] = 0,
    quiet: Hushed = False,
) -> None:
    """Count the texts of tasks that stand in a corpus, the same or nearly so.

    Case, punctuation, white space and forms of Unicode make no difference.
    """
    from cseb.api.overlap import overlap as looked_for
    from cseb.reports.text_table import aligned

    with telling(quiet):
        found = looked_for(corpus, tasks, data_dir, column=column, near=near, examples=show)
    say(f"Texts of tasks among {quantity(found.sentences, 'sentence')} of {plain(found.corpus)}")
    rows = [(plain(one.task), f"{one.texts:,}", f"{one.exact:,}", f"{one.near:,}") for one in found.tasks]
    for line in aligned([("task", "texts", "exact", "near"), *rows]):
        say(line)
    for one in found.tasks:
        for example in one.examples:
            say(f"\n{plain(one.task)}, {'exact' if example.exact else 'near'}")
            say(f"  task      {plain(example.text)}\n  training  {plain(example.sentence)}")
