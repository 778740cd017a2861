"""The commands that train nothing: report, list, show, sample, eval."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Annotated, Literal, cast

import typer

from cseb import describe
from cseb.cli import explain
from cseb.errors import BadBenchmark, one_of

if TYPE_CHECKING:
    from cseb.results.record import Record, Score, Select
    from cseb.results.store import Problem
    from cseb.results.tables import Table

RECORD = re.compile(r"[0-9a-f]{6,16}|.*\.json")  # what means a record rather than a method


def report(
    results: Annotated[Path, typer.Argument(help="A folder of records.")] = Path("results"),
    *,
    format: Annotated[str, typer.Option("--format", "-f", help="terminal, markdown, latex, csv or json.")] = "terminal",
    table: Annotated[str, typer.Option(help="few-shot: methods by shares; tasks: methods by tasks.")] = "few-shot",
    select: Annotated[
        str, typer.Option(help="The checkpoint: best on the dev set, last, or both; best where there is one.")
    ] = "",
    fraction: Annotated[float | None, typer.Option(help="For --table tasks: which share of the corpus.")] = None,
) -> None:
    """Print the table of a results folder.

    Tables of several encoders or corpora follow each other; csv and json hold one.
    """
    from cseb.results.render import FORMATS
    from cseb.results.store import Store
    from cseb.results.study import groups

    render = FORMATS[one_of(FORMATS, format, "--format")]
    one_of(("few-shot", "tasks"), table, "--table")
    one_of(("", "best", "last", "both"), select, "--select")
    records, problems = Store(results).load()
    select = select or ("best" if any(record.protocol.dev for record in records) else "last")
    several = groups(records) if format not in ("csv", "json") else [records]
    shown = [_beside_words(_table(results, group, problems, table, select, fraction)) for group in several or [records]]
    typer.echo("\n".join(map(render, shown)), nl=False)


def _table(
    results: Path,
    records: list[Record],
    problems: list[Problem],
    table: str,
    select: str,
    fraction: float | None,
) -> Table:
    from cseb.results.tables import few_shot, per_task

    order, seeds = _planned(results, records)
    if table == "few-shot":
        return few_shot(
            records, problems, select=cast(Literal["best", "last", "both"], select), order=order, seeds=seeds
        )
    if select == "both":
        raise BadBenchmark("--table tasks shows one checkpoint; give --select best or --select last")
    shares = sorted({record.subset.fraction for record in records})
    if fraction is None and len(shares) > 1:
        raise BadBenchmark(f"--table tasks shows one share; give --fraction, one of {', '.join(map(str, shares))}")
    share = fraction if fraction is not None else shares[0] if shares else 1.0
    return per_task(records, share, cast("Select", select), problems, order=order, seeds=seeds)


def _beside_words(table: Table) -> Table:
    """On the embedded world, which no paper knows, what counting words is worth stands below every table."""
    tasks = [
        task.partition("@")[0] for task in dict.fromkeys(task for column in table.columns for task in column.tasks)
    ]
    if not tasks or not all(task.startswith("mw-") for task in tasks):
        return table
    from cseb.tasks.words import baselines

    averages = [f"{name} {fmean(known):.2f}" for name, points in baselines(tasks).items() if (known := _whole(points))]
    return replace(table, notes=(*table.notes, f"Words alone, on average over these tasks: {', '.join(averages)}."))


def _whole(points: list[float | None]) -> list[float]:
    known = [point for point in points if point is not None]
    return known if len(known) == len(points) else []


def _planned(results: Path, records: list[Record]) -> tuple[list[str], list[int]]:
    """Methods and seeds that the benchmarks of these records ask for, so that a hole in the table is seen as one."""
    from cseb import benchmark as benchmarks
    from cseb.spec import parse_methods

    order: dict[str, None] = {}
    seeds = {record.seed for record in records}
    for name in sorted({record.benchmark for record in records}):
        path = results / f"benchmark-{name}.yaml"
        if path.is_file():
            planned = benchmarks.load(str(path))
            order |= dict.fromkeys(map(str, parse_methods(planned.methods)))
            seeds |= set(range(planned.seeds))
    return list(order), sorted(seeds)


def list_(
    kind: Annotated[str, typer.Argument(help="methods, parts, tasks, encoders or benchmarks.")],
) -> None:
    """List what there is: methods, parts, tasks, encoders or benchmarks."""
    _print("\n".join(describe.aligned(describe.listing(kind))))


def show(
    name: Annotated[str, typer.Argument(help="A method, such as simcse+ami; or a record, by key or file.")],
    *,
    results: Annotated[Path, typer.Option(help="Folder of records.")] = Path("results"),
) -> None:
    """Show a method in full: sources, options, deviations, published numbers. Or a record: its whole origin."""
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
