"""The tables of papers: sizes of the training set, single tasks, ablations, sensitivity to one option."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from cseb.analysis.options import varied
from cseb.analysis.study import Study, StudyQuery
from cseb.errors import BadResults
from cseb.records.record import Record
from cseb.records.store import Problem
from cseb.reports.captions import averaged, bare
from cseb.reports.tables import Heading, Table, tabulate
from cseb.text import percent, plain, quantity, size_title


def few_shot(records: Iterable[Record], problems: Sequence[Problem] = (), query: StudyQuery | None = None) -> Table:
    """Return methods by training set size: mean and spread over seeds of the average over tasks. Raises: BadResults."""
    query = query or StudyQuery()
    study = query.study(records)
    tasks = study.chosen(query.tasks)
    return tabulate(
        "few-shot",
        f"Scores by fraction of the corpus, {averaged(tasks)}",
        study,
        query,
        _method_headings(study, study.methods),
        _size_headings(study, query),
        problems=problems,
        rest=Heading(title="", tasks=tasks),
    )


def per_task(records: Iterable[Record], problems: Sequence[Problem] = (), query: StudyQuery | None = None) -> Table:
    """Return methods by tasks at one size of the training set, with an average per protocol. Raises: BadResults."""
    query = query or StudyQuery()
    study = query.study(records)
    if len(study.sizes) > 1:
        known = ", ".join(map(str, study.sizes))
        raise BadResults(f"a table of tasks shows one size of the training set; choose with `sizes`, one of {known}")
    ((size, fraction),) = study.sizes.items()
    where = f"{percent(fraction)} of the corpus ({quantity(size, 'sentence')})" if size else "untrained encoders"
    return tabulate(
        "per-task",
        f"Single tasks, {where}",
        study,
        query,
        _method_headings(study, study.methods),
        _each_select(_task_headings(study, query), query),
        problems=problems,
        rest=Heading(title="", size=size, fraction=fraction),
    )


def ablation(
    records: Iterable[Record], problems: Sequence[Problem] = (), query: StudyQuery | None = None, *, full: str = ""
) -> Table:
    """Return variants of a method by training set size, and their differences to it, paired by seed.

    full: the method as typed; by default the one that all others are typed from, such as msse of msse-dcm. Named
    without a choice of methods, its own variants are shown where there are any. Raises: BadResults.
    """
    query = query or StudyQuery()
    records = list(records)
    if full and not query.methods:
        known = {record.method for record in records}
        ordered = (*(method for method in query.order if method in known), *sorted(known - set(query.order)))
        variants = tuple(method for method in ordered if _is_variant(method, full))
        query = replace(query, methods=variants) if len(variants) > 1 else query
    study = query.study(records)
    full = full or _full(study.methods)
    if full not in study.methods:
        raise BadResults(f"no record is of the method {full!r}, which the others are compared with; run it, too")
    tasks = study.chosen(query.tasks)
    methods = (full, *(method for method in study.methods if method != full))
    columns = [
        shown
        for head in _size_headings(study, query)
        for shown in (head, replace(head, title=f"Δ {head.title}", minus=full))
    ]
    return tabulate(
        "ablation",
        f"Ablation of {plain(full)}, {averaged(tasks)}",
        study,
        query,
        _method_headings(study, methods),
        columns,
        problems=problems,
        rest=Heading(title="", tasks=tasks),
        reading=(f"Δ: difference from {plain(full)}, paired by seed (the same sentences in the same order).",),
    )


def sensitivity(
    records: Iterable[Record], problems: Sequence[Problem] = (), query: StudyQuery | None = None, *, option: str = ""
) -> Table:
    """Return values of one option by training set size, where methods differ in nothing else.

    option: such as infonce.temperature; by default the only one that differs. Others that differ too are named below
    the table. Raises: BadResults.
    """
    query = query or StudyQuery()
    study = query.study(records)
    values = varied(study, option)
    tasks = study.chosen(query.tasks)
    return tabulate(
        "sensitivity",
        f"{values.option}, {averaged(tasks)}",
        study,
        query,
        _method_headings(study, tuple(values.values), values.values),
        _size_headings(study, query),
        problems=problems,
        rest=Heading(title="", tasks=tasks),
        stub=values.option,
        reading=[f"These options differ too: {', '.join(values.others)}."] if values.others else [],
        notes=[f"{title}: {plain(method)}." for method, title in values.values.items()],
    )


def _method_headings(study: Study, methods: Sequence[str], titles: Mapping[str, str] | None = None) -> list[Heading]:
    """Return headings of these methods, under their names or under titles."""
    data_seen: dict[str, set[str]] = {}
    for (method, _), runs in study.runs.items():
        data_seen.setdefault(method, set()).update(*(record.data_seen for record in runs.values()))
    return [
        Heading(
            title=(titles or {}).get(method, plain(method)),
            method=method,
            data_seen=tuple(sorted(data_seen.get(method, ()))),
        )
        for method in methods
    ]


def _size_headings(study: Study, query: StudyQuery) -> list[Heading]:
    """Return headings of the sizes of the training set, for one checkpoint or for both."""
    return _each_select(
        [
            Heading(title=size_title(size, fraction) if size else "untrained", size=size, fraction=fraction)
            for size, fraction in study.sizes.items()
        ],
        query,
    )


def _task_headings(study: Study, query: StudyQuery) -> list[Heading]:
    """Return headings of single tasks, and of an average after those of one protocol."""
    wanted = study.named(query.tasks) or tuple(study.tasks)
    protocols = dict.fromkeys(study.tasks[task] for task in wanted)
    headings = []
    for protocol in protocols:
        tasks = tuple(task for task in wanted if study.tasks[task] == protocol)
        headings += [Heading(title=bare(task), tasks=(task,)) for task in tasks]
        if len(tasks) > 1:
            title = f"average {plain(protocol)}" if len(protocols) > 1 else "average"
            headings.append(Heading(title=title, tasks=tasks))
    return headings


def _each_select(headings: Sequence[Heading], query: StudyQuery) -> list[Heading]:
    """Return the headings for one checkpoint, or each twice, for both."""
    both = query.select == "both"
    return [
        replace(head, select=select, title=f"{head.title} {select}" if both else head.title)
        for head in headings
        for select in query.selects
    ]


def _is_variant(method: str, full: str) -> bool:
    return method.partition(" (")[0] == full or method.startswith((f"{full}+", f"{full}-"))


def _full(methods: Sequence[str]) -> str:
    """Return the method that all others are variants of. Raises: BadResults."""
    for full in methods:
        if len(methods) > 1 and all(_is_variant(method, full) for method in methods):
            return full
    raise BadResults(
        f"which of {', '.join(map(plain, methods))} is the full method? say so with `table` ablation:METHOD, "
        "or choose a method and its variants with `methods`"
    )


KINDS: Mapping[str, Callable[..., Table]] = {
    "few-shot": few_shot,
    "tasks": per_task,
    "ablation": ablation,
    "sensitivity": sensitivity,
}
