"""The command that prints a folder of records as a table or a page."""

from __future__ import annotations

import gc
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from cseb.errors import BadBenchmark, BadResults, one_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cseb.results.html.page import Group
    from cseb.results.record import Record
    from cseb.results.store import Problem
    from cseb.results.study import Study
    from cseb.results.tables import Ask, Table

TEXT = ("terminal", "markdown", "latex")  # formats that hold several tables
Results = Annotated[Path, typer.Argument(help="A folder of records.")]
Methods = Annotated[str, typer.Option(help="Those to show, in this order.")]
Fractions = Annotated[
    str, typer.Option("--fractions", "--fraction", help="Shares of the corpus to show, such as 0.001,0.01.")
]
Sizes = Annotated[str, typer.Option(help="Numbers of sentences to show, such as 100,1000.")]
Tasks = Annotated[str, typer.Option(help="Tasks or groups of tasks to show or average, in this order.")]
Checkpoint = Annotated[
    str, typer.Option(help="The checkpoint: best on the dev set, last, or both; best where there is one.")
]
Mixed = Annotated[
    bool, typer.Option("--mixed", help="Let one table mix devices, versions and task lists, and say so below it.")
]


def report(
    results: Results = Path("results"),
    *,
    benchmark: Annotated[
        str, typer.Option(help="A benchmark, for its records alone and its own layout; a folder of one has it anyway.")
    ] = "",
    format: Annotated[
        str, typer.Option("--format", "-f", help="terminal, markdown, latex, csv, json or html.")
    ] = "terminal",
    table: Annotated[
        str,
        typer.Option(
            help="few-shot: methods by shares; tasks: methods by tasks; ablation: differences to the full method; "
            "sensitivity: values of one option. By default what the benchmark says, or few-shot; html adds tasks."
        ),
    ] = "",
    by: Annotated[str, typer.Option(help="What rows are: method, encoder, fraction or task.")] = "method",
    methods: Methods = "",
    fractions: Fractions = "",
    sizes: Sizes = "",
    tasks: Tasks = "",
    select: Checkpoint = "",
    spread: Annotated[
        str, typer.Option(help="Behind a mean: std, ci95 (Student's t), sem, or range (lowest and highest seed).")
    ] = "std",
    full: Annotated[str, typer.Option(help="For --table ablation: the method that the others are parts of.")] = "",
    option: Annotated[str, typer.Option(help="For --table sensitivity: such as infonce.temperature.")] = "",
    against: Annotated[str, typer.Option(help="published: each number beside what papers print.")] = "",
    mark: Annotated[
        str,
        typer.Option(
            help="The best, and all that cannot be told from it: for new seeds, for new items too, or none; items need "
            "the test data."
        ),
    ] = "seeds",
    data_dir: Annotated[str, typer.Option(help="For --mark items: folder of task files, where the run had none.")] = "",
    mixed: Mixed = False,
    out: Annotated[Path | None, typer.Option(help="File to write instead of the screen.")] = None,
) -> None:
    """Print the table of a results folder.

    Tables of several encoders or corpora follow each other; csv and json name both for every number.
    """
    from cseb.cli.planned import layout, own, plans, settled
    from cseb.results.beside import beside_published
    from cseb.results.kinds import KINDS
    from cseb.results.render import FORMATS
    from cseb.results.store import Store
    from cseb.results.study import as_it_stands, groups

    one_of((*FORMATS, "html"), format, "--format")
    one_of(("", *KINDS), table, "--table")
    one_of(("method", "encoder", "fraction", "task"), by, "--by")
    one_of(("std", "ci95", "sem", "range"), spread, "--spread")
    one_of(("", "best", "last", "both"), select, "--select")
    one_of(("", "published"), against, "--against")
    one_of(("seeds", "items", "none"), mark, "--mark")
    ask = asked(methods, fractions, sizes, tasks, select, by=by, spread=spread, mixed=mixed)
    records, problems = Store(results).load(lean=True)
    gc.freeze()  # none of them is garbage, and there may be a hundred thousand
    if benchmark:
        [plan] = plans(results, [], benchmark)
        records = own(records, plan)
    several = groups(records, encoders=by == "encoder")
    if methods or fractions or sizes:  # encoders as they stand have none of these
        several = [group for group in several if not all(map(as_it_stands, group))] or several
    typed = {"ablation": {"full": _canonical(full)}, "sensitivity": {"option": option}}.get(table, {})

    pages: list[Group] = []
    for group in several or [[]]:
        standing = bool(group) and all(map(as_it_stands, group))
        mine = replace(ask, by="encoder", select="last") if standing and by == "method" else ask
        claim = "none" if standing and mark == "seeds" else mark  # they have one seed
        planned = plans(results, group, benchmark)
        mine = _marking(settled(mine, group, planned), claim, results, group, data_dir)
        study = mine.study(group)
        kind, special = (table, typed) if table or format == "html" else layout(planned)
        tables = [_laid_out(kind or ("tasks" if standing else "few-shot"), group, problems, mine, special, table)]
        if format == "html" and not table and not standing:
            tables += [KINDS["tasks"](group, problems, one) for one in _each_size(mine, study)]
        tables = [beside_words(one) for one in tables]
        sheets = [beside_published(one, study) for one in tables] if against else []
        tables = [
            one if not against or sheet.lines else replace(one, notes=(*one.notes, *sheet.notes))
            for one, sheet in zip_longest(tables, sheets)
        ]
        sheets = [sheet for sheet in sheets if sheet.lines]
        pages.append((tables, sheets, study))
    write(_rendered(format, results, pages), out)


def _laid_out(
    kind: str, group: list[Record], problems: Sequence[Problem], ask: Ask, special: dict[str, str], table: str
) -> Table:
    """The table; where a benchmark asks for a kind that these records cannot fill, few-shot, and why below it.

    table: the kind that was typed, "" where the benchmark's is taken.
    """
    from cseb.results.kinds import KINDS

    try:
        return KINDS[kind](group, problems, ask, **special)
    except BadResults as error:
        if table or kind == "few-shot":
            raise
        found = KINDS["few-shot"](group, problems, ask)
        return replace(found, notes=(*found.notes, f"Not as the benchmark lays it out ({kind}): {error}."))


def _rendered(format: str, results: Path, pages: list[Group]) -> str:
    """Tables and the sheets that belong to them; csv and json hold either all tables or all sheets."""
    from cseb.results.render import FORMATS
    from cseb.results.sheet import SHEET_FORMATS

    if format == "html":
        from cseb.results.html.page import page

        return page(results, pages)
    if format in TEXT:
        texts = [
            (FORMATS[format](tables), *([SHEET_FORMATS[format](beside)] if beside else []))
            for tables, beside, _ in pages
        ]
        return "\n".join(text for held in texts for text in held)
    if beside := [sheet for _, sheets, _ in pages for sheet in sheets]:
        return SHEET_FORMATS[format](beside)
    return FORMATS[format]([table for tables, _, _ in pages for table in tables])


def asked(methods: str, fractions: str, sizes: str, tasks: str, select: str, **others: Any) -> Ask:
    """What a user typed, read. Raises: BadBenchmark, BadSpec, UnknownName."""
    from cseb.registry import TASK_GROUPS
    from cseb.results.tables import Ask

    names = [name.strip() for name in tasks.split(",") if name.strip()]
    return Ask(
        methods=parsed(methods),
        fractions=tuple(map(float, _numbers(fractions, float, "--fractions"))),
        sizes=tuple(map(int, _numbers(sizes, int, "--sizes"))),
        tasks=tuple(task for name in names for task in TASK_GROUPS.get(name, (name,))),
        select=cast(Any, select),
        **others,
    )


def beside_words(table: Table) -> Table:
    """On the embedded world, which no paper knows, what counting words is worth stands below every table."""
    places = [table.place(row, column) for row in table.rows for column in table.columns]
    tasks = [task.partition("@")[0] for task in dict.fromkeys(task for place in places for task in place.tasks)]
    from cseb.registry import TASK_GROUPS

    if not tasks or not set(tasks) <= set(TASK_GROUPS["microworld"]):
        return table
    from cseb.tasks.words import baselines

    averages = [f"{name} {fmean(known):.2f}" for name, points in baselines(tasks).items() if (known := _whole(points))]
    return replace(table, notes=(*table.notes, f"Words alone, on average over these tasks: {', '.join(averages)}."))


def _whole(points: list[float | None]) -> list[float]:
    known = [point for point in points if point is not None]
    return known if len(known) == len(points) else []


def write(text: str, out: Path | None) -> None:
    """To the screen, or whole to a file. Raises: BadResults."""
    if out is None:
        typer.echo(text, nl=False)
        return
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise BadResults(
            f"{out} cannot be written: {error.strerror or error}; make its folder, or take another"
        ) from None
    typer.echo(f"written to {out}")


def _marking(ask: Ask, mark: str, results: Path, records: list[Record], data_dir: str) -> Ask:
    """With what marks cells, and what a mark says."""
    from cseb.cli.compare import evidence
    from cseb.results.marks import by_items, by_seeds
    from cseb.results.store import Store

    told = "paired by seed, Holm over the column, 5 %"
    match mark:
        case "none":
            return ask
        case "items":
            known = by_items(evidence(Store(results), records, data_dir))
            return replace(ask, best=known, claim=f"{told}: for new seeds and new test items")
    return replace(ask, best=by_seeds(), claim=f"{told}: for new seeds on the same test items")


def _each_size(ask: Ask, study: Study) -> list[Ask]:
    return [replace(ask, fractions=(), sizes=(size,)) for size in study.sizes]


def parsed(text: str) -> tuple[str, ...]:
    """Methods as typed, as records name them. Raises: BadSpec, UnknownName."""
    from cseb.spec import parse_methods

    return tuple(map(str, parse_methods(text))) if text.strip() else ()


def _canonical(text: str) -> str:
    return (*parsed(text), "")[0]


def _numbers(text: str, kind: type, option: str) -> list[Any]:
    try:
        return [kind(one.replace("_", "")) for one in text.split(",") if one.strip()]
    except ValueError:
        raise BadBenchmark(f"{option} is {text!r}; numbers with commas between them are needed") from None
