"""The commands that look at one thing: list, show, sample, eval."""

from __future__ import annotations

import sys
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Annotated

import typer

from cseb import describe
from cseb.errors import BadBenchmark

if TYPE_CHECKING:
    from cseb.results.record import Score


def list_(
    kind: Annotated[str, typer.Argument(help="methods, parts, tasks, encoders or benchmarks.")],
) -> None:
    """List what there is: methods, parts, tasks, encoders or benchmarks."""
    _print("\n".join(describe.aligned(describe.listing(kind))))


def show(method: Annotated[str, typer.Argument(help="A method, such as micse or simcse+ami.")]) -> None:
    """Show a method in full: sources, every option, deviations from the paper, published numbers."""
    _print(describe.show(method))


def sample(
    corpus: Annotated[str, typer.Argument(help="A file, microworld:COUNT, or hub:OWNER/NAME/FILE.")],
    *,
    fraction: Annotated[float | None, typer.Option(help="Share of the corpus, in (0, 1].")] = None,
    size: Annotated[int | None, typer.Option(min=1, help="Number of sentences.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="The seed that draws them, as in `cseb run`.")] = 0,
    column: Annotated[str, typer.Option(help="Column of the sentences, if the corpus is a table.")] = "",
    out: Annotated[Path | None, typer.Option(help="File to write; a manifest goes beside it.")] = None,
) -> None:
    """Draw the very sentences that a run with this seed trains on."""
    from cseb.data.corpus import read_corpus
    from cseb.data.subset import draw, size_of, write_subset

    if (fraction is None) == (size is None):
        raise BadBenchmark("give --fraction or --size, one of them")
    held = read_corpus(corpus, column)
    count = size if size is not None else size_of(fraction or 0.0, len(held))
    if out is not None:
        manifest = write_subset(out, held, count, seed)
        typer.echo(f"{count} of {len(held)} sentences in {out}, what they are in {manifest}")
        return
    for sentence in held.take(draw(len(held), count, seed)):
        typer.echo(sentence)


def evaluate(
    encoder: Annotated[str, typer.Argument(help="A folder, microworld, or a hub name.")],
    *,
    tasks: Annotated[str, typer.Option(help="Such as sts or stsb,sickr.")] = "sts",
    pooler: Annotated[str, typer.Option(help="Such as cls, mean or first_last(first=0).")] = "cls",
    data_dir: Annotated[str, typer.Option(help="Folder of task files in SentEval's layout.")] = "",
    threads: Annotated[int, typer.Option(min=1, help="CPU threads.")] = 1,
) -> None:
    """Score an encoder as it stands."""
    from cseb.run import evaluate as score  # loads torch

    source, scores = score(encoder, pooler, tasks, data_dir, threads)
    typer.echo(f"{source.name} ({source.sha256[:8]}), {pooler}, {', '.join(sorted({one.protocol for one in scores}))}")
    typer.echo(score_table(scores))


def score_table(scores: list[Score]) -> str:
    """One column for each task, and Avg.: the mean of the numbers as printed, which is how SentEval's users do it."""
    rounded = [None if score.value is None else round(score.value, 2) for score in scores]
    known = [value for value in rounded if value is not None]
    average = fmean(known) if known and len(known) == len(rounded) else None
    shown = ["--" if value is None else f"{value:.2f}" for value in [*rounded, average]]
    return "\n".join(describe.aligned([[*(score.task.partition("@")[0] for score in scores), "Avg."], shown]))


def _print(text: str) -> None:
    """Folded for a person, one item a line for a program."""
    typer.echo(describe.folded(text) if sys.stdout.isatty() else text)
