"""The commands that say where a number comes from: show of a record, diff, verify, rerun."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cseb.errors import BadResults

if TYPE_CHECKING:
    from cseb.benchmark import Benchmark
    from cseb.explain.differ import Reading
    from cseb.results.record import Record

RecordName = Annotated[str, typer.Argument(help="The key of a record, the beginning of one, or its file.")]
Results = Annotated[Path, typer.Option(help="Folder of records.")]
DataDir = Annotated[str, typer.Option(help="Folder of task files in SentEval's layout; else the benchmark's.")]
PUBLISHED = "published"


def told(text: str, results: Path) -> str:
    """A record's whole origin, for `cseb show`."""
    from cseb import describe
    from cseb.explain.find import find
    from cseb.explain.story import story

    store, record = find(text, results)
    blocks = [
        [heading, *(f"  {line}" for line in describe.aligned(rows))] for heading, rows in story(record, store) if rows
    ]
    return "\n\n".join("\n".join(block) for block in blocks)


def diff(
    a: Annotated[str, typer.Argument(help="A record, or a folder of records.")],
    b: Annotated[str, typer.Argument(help="Another one, or published.")],
    *,
    results: Results = Path("results"),
) -> None:
    """List what differs between two results, and how much of their gap each reading of them explains."""
    from cseb import describe
    from cseb.explain import differ

    here = _side(a, results)
    if b == PUBLISHED:
        for row in differ.printed_for(here[0]):
            reasons, readings = differ.against_printed(here, row)
            typer.echo(f"{row.where}: {row.text}" + (f" ± {row.std_text}" if row.std_text else ""))
            typer.echo(
                "\n".join(f"  not as in the paper: {reason}" for reason in reasons) or "  conditions as in the paper"
            )
            typer.echo(f"{_read(readings, 'ours', 'theirs')}\n")
        return
    there = _side(b, results)
    rows = differ.fields_apart(here, there)
    typer.echo(
        "\n".join(describe.aligned([("differs", "A", "B"), *rows])) if rows else "nothing differs but the run itself"
    )
    cells = differ.matched(here, there) if Path(a).is_dir() or Path(b).is_dir() else [("", here, there)]
    for name, ours, theirs in cells:
        typer.echo(f"\n{name}" if name else "")
        typer.echo(_read(differ.readings(ours, theirs), "A", "B"))


def verify(
    results: Annotated[Path, typer.Argument(help="A folder of records.")] = Path("results"),
    *,
    data_dir: DataDir = "",
) -> None:
    """Work out every number of every record again from its items and the task files alone; 1 if one is not the same."""
    from cseb.explain.verify import verify as verified
    from cseb.results.store import Store

    store = Store(results)
    names = {one.benchmark for one in store.load()[0]}
    found = list(verified(store, {name: data_dir or _data_dir(results, name) for name in names} | {"": data_dir}))
    bad = [one for one in found if one.wrong]
    for one in bad:
        typer.echo("\n".join(f"BAD {one.key} {line}" for line in one.wrong))
    figures, good = sum(one.figures for one in found), len(found) - len(bad)
    typer.echo(f"{good} of {len(found)} records as their items say, {figures} figures worked out again")
    raise typer.Exit(1 if bad else 0)


def rerun(
    record: RecordName,
    *,
    results: Results = Path("results"),
    data_dir: DataDir = "",
    column: Annotated[str, typer.Option(help="Column of the sentences; else the benchmark's.")] = "",
    trust_remote_code: Annotated[
        bool, typer.Option("--trust-remote-code", help="Run Python code that comes with the encoder.")
    ] = False,
) -> None:
    """Run the very job of a record again and compare scores and items bit by bit; 1 if they are not equal."""
    from cseb.explain import again
    from cseb.explain.find import find

    store, there = find(record, results)
    loaded = _benchmark(store.folder, there.benchmark)
    job = again.job_of(
        there,
        column or (loaded.column if loaded and loaded.corpus == there.corpus.name else ""),
        data_dir or (loaded.data_dir if loaded else ""),
        trust_remote_code,
    )
    try:
        held = store.read_items(there.key)
    except BadResults:
        held = None
    here, items = again.again(job, lambda progress: None)
    found = again.compared(here, there, items, held)
    for what, how_far in found:
        typer.echo(f"BAD {what}: {how_far}")
    for line in again.conditions_apart(here, there):
        typer.echo(f"    {line}")
    what = "scores" if held is None else "scores and items"
    typer.echo(f"{there.key}: {what} not equal" if found else f"{there.key}: {what} equal to the last bit")
    raise typer.Exit(1 if found else 0)


def _side(text: str, results: Path) -> list[Record]:
    from cseb.explain.find import find
    from cseb.results.store import Store

    if not Path(text).is_dir():
        return [find(text, results)[1]]
    records = Store(Path(text)).load()[0]
    if not records:
        raise BadResults(f"{text} holds no records")
    return records


def _read(readings: list[Reading], a: str, b: str) -> str:
    """Readings as a table; the last column says how much of the gap as reported each explains."""
    from cseb import describe

    first = readings[0].gap
    rows = [("points", a, b, f"{b} - {a}", "explains")]
    for place, one in enumerate(readings):
        gap = one.gap
        explained = "" if not place or first is None or gap is None else f"{first - gap:+.2f} of {first:+.2f}"
        rows.append((one.name, _points(one.a), _points(one.b), "--" if gap is None else f"{gap:+.2f}", explained))
    return "\n".join(f"  {line}" for line in describe.aligned(rows))


def _points(value: float | None) -> str:
    return "--" if value is None else f"{value:.2f}"


def _benchmark(folder: Path, name: str) -> Benchmark | None:
    """The benchmark as it was run, beside its records; None where it is gone."""
    from cseb import benchmark as benchmarks

    path = folder / f"benchmark-{name}.yaml"
    return benchmarks.load(str(path)) if path.is_file() else None


def _data_dir(folder: Path, name: str) -> str:
    loaded = _benchmark(folder, name)
    return loaded.data_dir if loaded else ""
