"""The command that compares methods of a results folder: how much better, how sure, and where the spread comes from."""

from __future__ import annotations

import gc
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from cseb.cli.report import Methods, parsed
from cseb.errors import BadBenchmark, one_of

if TYPE_CHECKING:
    from cseb.results.evidence import Data, Evidence
    from cseb.results.record import Record, Select
    from cseb.results.store import Store


def compare(
    results: Annotated[Path, typer.Argument(help="A folder of records.")] = Path("results"),
    *,
    baseline: Annotated[str, typer.Option(help="The method to compare with; simcse where there is one.")] = "",
    all_pairs: Annotated[bool, typer.Option("--all-pairs", help="Every two methods in place of a baseline.")] = False,
    methods: Methods = "",
    fraction: Annotated[str, typer.Option(help="Shares of the corpus, such as 0.001,0.01; all by default.")] = "",
    tasks: Annotated[str, typer.Option(help="Tasks to average; by default all that are scored alike.")] = "",
    select: Annotated[
        str, typer.Option(help="The checkpoint: best on the dev set or last; best where there is one.")
    ] = "",
    margin: Annotated[float, typer.Option(min=0, help="Points below which a difference does not matter.")] = 0.5,
    singles: Annotated[bool, typer.Option("--single-tasks", help="Single tasks too, exploratory.")] = False,
    aso: Annotated[
        bool, typer.Option("--aso", help="Almost stochastic order too, from five seeds on; descriptive.")
    ] = False,
    variance: Annotated[
        bool, typer.Option("--variance", help="Where the spread comes from, for runs made with --vary.")
    ] = False,
    data_dir: Annotated[str, typer.Option(help="Folder of task files; by default that of the benchmark.")] = "",
    format: Annotated[str, typer.Option("--format", "-f", help="terminal, markdown, latex, csv or json.")] = "terminal",
) -> None:
    """Compare methods by paired differences, with intervals for new seeds and for new test items.

    The average over tasks is the primary comparison, corrected by Holm at each share; all else is exploratory.
    """
    from cseb.results.looks import look
    from cseb.results.page import Wanted, baseline_of, sheets
    from cseb.results.sheet import SHEET_FORMATS
    from cseb.results.sources import sources
    from cseb.results.store import Store
    from cseb.results.study import as_it_stands, choose, gather, groups

    render = SHEET_FORMATS[one_of(SHEET_FORMATS, format, "--format")]
    one_of(("", "best", "last"), select, "--select")
    if baseline and all_pairs:
        raise BadBenchmark("both --baseline and --all-pairs are given; choose one")
    shares = _shares(fraction)
    store = Store(results)
    records, _ = store.load(lean=True)
    gc.freeze()  # none of them is garbage
    chosen = cast("Select", select or ("best" if any(record.protocol.dev for record in records) else "last"))
    trained = [record for record in records if not as_it_stands(record)] or records  # the others have no baseline
    shown = []
    for group in groups(choose(trained, parsed(methods))) or [records]:
        if variance:
            shown += [sources(group, chosen)]
            continue
        study = gather(group)
        wanted = Wanted(
            baseline="" if all_pairs else baseline_of(study, baseline),
            select=chosen,
            fractions=shares,
            tasks=_named(tasks, study.tasks),
            margin=margin,
            singles=singles,
            aso=aso,
        )
        found = sheets(study, wanted, evidence(store, group, data_dir))
        said = look(results, study)
        shown += [replace(found[0], notes=(*found[0].notes, said)) if said else found[0], *found[1:]]
    typer.echo(render(shown), nl=False)


def evidence(store: Store, records: list[Record], data_dir: str) -> Evidence:
    """The items of a folder's records, and the data they were scored on, from `data_dir` or where the run had them."""
    from cseb import benchmark as benchmarks
    from cseb.results.evidence import Evidence
    from cseb.tasks.evaluate import load_task

    folder = data_dir
    for name in sorted({record.benchmark for record in records}):
        path = store.folder / f"benchmark-{name}.yaml"
        if not folder and path.is_file():
            folder = benchmarks.load(str(path)).data_dir

    def load(name: str) -> Data:
        return load_task(name, Path(folder) if folder else None)

    return Evidence(store.read_items, load)


def _named(text: str, known: object) -> tuple[str, ...]:
    """Tasks as records name them, from names a user types."""
    from cseb.tasks.names import parse_names

    versioned = {str(task).partition("@")[0]: str(task) for task in cast("dict[str, str]", known)}
    return tuple(versioned.get(name, name) for name in parse_names(text)) if text else ()


def _shares(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in text.split(",") if part.strip())
    except ValueError:
        raise BadBenchmark(f"--fraction is {text!r}; write shares such as 0.001,0.01") from None
