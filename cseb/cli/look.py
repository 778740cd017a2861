"""The commands that look at one thing: list, show, sample, eval."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Annotated

import typer

from cseb.cli import explain
from cseb.cli.grid import Trust
from cseb.cli.hosts import Device, Threads, device_of
from cseb.errors import BadBenchmark, one_of

if TYPE_CHECKING:
    from cseb.results.record import Score

RECORD = re.compile(r"[0-9a-f]{6,16}|.*\.json")  # what means a record rather than a method


def list_(
    kind: Annotated[str, typer.Argument(help="methods, parts, tasks, encoders or benchmarks.")],
) -> None:
    """List what there is: methods, parts, tasks, encoders or benchmarks."""
    from cseb import describe

    _print("\n".join(describe.aligned(describe.listing(kind))))


def show(
    name: Annotated[str, typer.Argument(help="A method, such as simcse+ami; or a record, by key or file.")],
    *,
    results: Annotated[Path, typer.Option(help="Folder of records.")] = Path("results"),
) -> None:
    """Show a method in full: sources, options, deviations, published numbers. Or a record: its whole origin."""
    from cseb import describe

    _print(explain.told(name, results) if RECORD.fullmatch(name) else describe.show(name))


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
    encoder: Annotated[
        str,
        typer.Argument(help="A folder, hub name, run's key, module:function, glove:FILE, words:tf-idf, microworld."),
    ],
    *,
    tasks: Annotated[str, typer.Option(help="Such as sts or stsb,sickr or mteb:Banking77Classification.")] = "sts",
    pooler: Annotated[str, typer.Option(help="Such as mean or first_last(first=0); its own, or cls.")] = "",
    data_dir: Annotated[str, typer.Option(help="Folder of task files in SentEval's layout.")] = "",
    results: Annotated[Path, typer.Option(help="Folder of records, and of the models of runs.")] = Path("results"),
    cache: Annotated[Path | None, typer.Option(help="Folder that keeps sentence vectors for other tasks.")] = None,
    dtype: Annotated[str, typer.Option(help="fp32, or bf16: faster on some machines, second decimals move.")] = "fp32",
    threads: Threads = 1,
    device: Device = "auto",
    fresh: Annotated[bool, typer.Option("--fresh/--resume", help="Score again what has a record.")] = False,
    trust_remote_code: Trust = False,
) -> None:
    """Score an encoder as it stands, and keep the record.

    A task that fails is named, the others are scored; the exit code is then 1.
    """
    from cseb.embedders import How, find
    from cseb.evaluate import evaluate as score  # loads torch
    from cseb.results.store import Store
    from cseb.tasks.names import spoken

    one_of(("fp32", "bf16"), dtype, "--dtype")
    for line in spoken(tasks):
        typer.echo(line, err=True)
    where = device_of(device)
    how = How(pooler=pooler, dtype=dtype, device=where, trust_remote_code=trust_remote_code, results=results)
    store = Store(results)
    store.prepare()
    found = score(find(encoder, how), how, tasks, data_dir, store, threads=threads, cache=cache, fresh=fresh)
    record = found.record
    scores = {one.task.partition("@")[0]: one for one in record.scores} if record else {}
    if record:
        kept = "was there already, --fresh scores again" if found.reused else f"in {results}"
        typer.echo(
            f"{record.encoder.name} ({record.encoder.sha256[:8]}), {record.method}, "
            f"{', '.join(sorted({one.protocol for one in record.scores}))}; record {record.key} {kept}"
        )
    if found.cache:
        typer.echo(f"cache: {found.cache}")
    typer.echo(score_table(found.tasks, scores))
    for task, reason in found.failed.items():
        typer.echo(f"cseb: {task} has no score: {reason}", err=True)
    if found.failed:
        raise typer.Exit(1)


def score_table(tasks: Sequence[str], scores: Mapping[str, Score]) -> str:
    """One column for each task, and Avg.: the mean of the numbers as printed, which is how SentEval's users do it.

    No average is shown if a number is missing, or if the tasks are measured in different ways.
    """
    from cseb import describe

    known = {task: round(one.value, 2) for task, one in scores.items() if one.value is not None}
    whole = len(known) == len(tasks) and len({one.protocol for one in scores.values()}) == 1
    shown = [f"{known[task]:.2f}" if task in known else "failed" for task in tasks]
    average = f"{fmean(known.values()):.2f}" if whole else "--"
    return "\n".join(describe.aligned([[*tasks, "Avg."], [*shown, average]]))


def _print(text: str) -> None:
    """Folded for a person, one item a line for a program."""
    from cseb import describe

    typer.echo(describe.folded(text) if sys.stdout.isatty() else text)
