"""The tables of papers: fractions of the corpus, single tasks, ablations, sensitivity to one option."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from cseb.analysis.options import varied
from cseb.analysis.query import StudyQuery
from cseb.analysis.study import Study
from cseb.errors import BadResults
from cseb.records.record import Record
from cseb.records.record_file import Problem
from cseb.reports.tables import (
    Heading,
    Table,
    averaged,
    each_select,
    method_headings,
    size_headings,
    tabulate,
    task_headings,
)
from cseb.text import percent, plain, quantity


def few_shot(records: Iterable[Record], problems: Sequence[Problem] = (), ask: StudyQuery | None = None) -> Table:
    """Methods by fractions of the corpus: mean and spread over seeds of the average over tasks. Raises: BadResults."""
    ask = ask or StudyQuery()
    study = ask.study(records)
    if ask.by == "task":
        title = "Scores by fraction of the corpus"
        return _of_one_method(
            "few-shot", title, study, ask, task_headings(study, ask), size_headings(study, ask), problems
        )
    tasks = study.chosen(ask.tasks)
    sides = _sides(method_headings(study, study.methods), size_headings(study, ask), turned=ask.by == "fraction")
    title = f"Scores by fraction of the corpus, {averaged(tasks)}"
    return tabulate("few-shot", title, study, ask, *sides, problems=problems, rest=Heading(title="", tasks=tasks))


def per_task(records: Iterable[Record], problems: Sequence[Problem] = (), ask: StudyQuery | None = None) -> Table:
    """Methods by tasks at one fraction of the corpus, with an average per protocol. Raises: BadResults."""
    ask = ask or StudyQuery()
    study = ask.study(records)
    if ask.by == "fraction":
        title = "Single tasks"
        return _of_one_method(
            "per-task", title, study, ask, size_headings(study, ask), task_headings(study, ask), problems
        )
    if len(study.sizes) > 1:
        known = ", ".join(map(str, study.sizes))
        raise BadResults(f"a table of tasks shows one size of the training set; choose with `sizes`, one of {known}")
    ((size, fraction),) = study.sizes.items()
    columns = each_select(task_headings(study, ask), ask)
    sides = _sides(method_headings(study, study.methods), columns, turned=ask.by == "task")
    where = f"{percent(fraction)} of the corpus ({quantity(size, 'sentence')})" if size else "encoders as they stand"
    title = f"Single tasks, {where}"
    rest = Heading(title="", size=size, fraction=fraction)
    return tabulate("per-task", title, study, ask, *sides, problems=problems, rest=rest)


def ablation(
    records: Iterable[Record], problems: Sequence[Problem] = (), ask: StudyQuery | None = None, *, full: str = ""
) -> Table:
    """Variants of a method by fractions of the corpus, and their differences to it, seed by seed.

    full: the method as typed; by default the one that all others are typed from, such as msse of msse-dcm. Named
    without a choice of methods, its own variants are shown where there are any. Raises: BadResults.
    """
    ask = ask or StudyQuery()
    records = list(records)
    if full and not ask.methods:
        there = {one.method for one in records}
        held = (*(method for method in ask.order if method in there), *sorted(there - set(ask.order)))
        own = tuple(method for method in held if _variant(method, full))
        ask = replace(ask, methods=own) if len(own) > 1 else ask
    study = ask.study(records)
    full = full or _full(study.methods)
    if full not in study.methods:
        raise BadResults(f"no record is of the method {full!r}, which the others are compared with; run it, too")
    tasks = study.chosen(ask.tasks)
    methods = (full, *(method for method in study.methods if method != full))
    columns = [
        shown
        for head in size_headings(study, ask)
        for shown in (head, replace(head, title=f"Δ {head.title}", minus=full))
    ]
    sides = _sides(method_headings(study, methods), columns, turned=ask.by == "fraction")
    note = f"Δ: difference from {plain(full)} in points, paired by seed (the same sentences in the same order)."
    title = f"Ablation of {plain(full)}, {averaged(tasks)}"
    rest = Heading(title="", tasks=tasks)
    return tabulate("ablation", title, study, ask, *sides, problems=problems, rest=rest, extra=(note,))


def sensitivity(
    records: Iterable[Record],
    problems: Sequence[Problem] = (),
    ask: StudyQuery | None = None,
    *,
    option: str = "",
) -> Table:
    """Values of one option by fractions of the corpus, where methods differ in nothing else.

    option: such as infonce.temperature; by default the only one that differs. Others that move with it are named
    below. Raises: BadResults.
    """
    ask = ask or StudyQuery()
    study = ask.study(records)
    found = varied(study, option)
    tasks = study.chosen(ask.tasks)
    rows = method_headings(study, tuple(found.values), found.values)
    sides = _sides(rows, size_headings(study, ask), turned=ask.by == "fraction")
    details = [f"{title}: {plain(method)}." for method, title in found.values.items()]
    extra = [f"These options differ too: {', '.join(found.others)}."] if found.others else []
    title = f"{found.option}, {averaged(tasks)}"
    return tabulate(
        "sensitivity",
        title,
        study,
        ask,
        *sides,
        problems=problems,
        rest=Heading(title="", tasks=tasks),
        stub=found.option if ask.by != "fraction" else "",
        extra=extra,
        details=details,
    )


def _sides(rows: list[Heading], columns: list[Heading], *, turned: bool) -> tuple[list[Heading], list[Heading]]:
    return (columns, rows) if turned else (rows, columns)


def _of_one_method(
    name: str,
    title: str,
    study: Study,
    ask: StudyQuery,
    rows: Sequence[Heading],
    columns: Sequence[Heading],
    problems: Sequence[Problem],
) -> Table:
    """Fractions by tasks or tasks by fractions: neither side says which method, so there must be one."""
    if len(study.methods) > 1:
        raise BadResults(
            f"this table shows one method, the records have {len(study.methods)}; choose with `methods`, "
            f"such as {plain(study.methods[0])}"
        )
    (method,) = method_headings(study, study.methods)
    return tabulate(name, f"{title}, {method.title}", study, ask, rows, columns, problems=problems, rest=method)


def _variant(method: str, full: str) -> bool:
    return method.partition(" (")[0] == full or method.startswith((f"{full}+", f"{full}-"))


def _full(methods: Sequence[str]) -> str:
    found = [full for full in methods if all(_variant(method, full) for method in methods)]
    if len(methods) < 2 or not found:
        raise BadResults(
            f"which of {', '.join(map(plain, methods))} is the full method? say so with `baseline`, "
            "or choose a method and its variants with `methods`"
        )
    return found[0]


KINDS: Mapping[str, Callable[..., Table]] = {
    "few-shot": few_shot,
    "tasks": per_task,
    "ablation": ablation,
    "sensitivity": sensitivity,
}
