"""The tables of papers: sizes of the training set, single tasks, ablations, sensitivity to the option that differs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from cseb.analysis.study import Study, StudyQuery
from cseb.errors import BadResults, did_you_mean
from cseb.records.method_text import Stated
from cseb.records.record import Record
from cseb.records.store import Problem
from cseb.reports.captions import averaged, bare
from cseb.reports.tables import Heading, Table, tabulate
from cseb.text import percent, plain, quantity, size_title

EVERYTHING = StudyQuery()
Options = Mapping[str, object]  # such as "infonce.temperature" to 0.05


@dataclass(frozen=True, slots=True)
class VariedOption:
    """An option and its value in each method.

    option: such as infonce.temperature. values: shown value by method, rising. others: options that differ too.
    """

    option: str
    values: Mapping[str, str]
    others: tuple[str, ...]


def varied(study: Study, option: str = "") -> VariedOption:
    """Return the one option that differs between the methods at every size, or `option`.

    Raises: BadResults if methods differ in parts, in no option, in several without one being named, or if two of them
    have the same value.
    """
    by_method = {method: values for method in study.methods if (values := _by_size(study, method))}
    if not by_method:
        raise BadResults("these methods have no options; take `table` few-shot")
    first, *rest = by_method
    for method in rest:
        if parts := sorted({name.partition(".")[0] for name in set(by_method[method]) ^ set(by_method[first])}):
            raise BadResults(
                f"{plain(first)} and {plain(method)} differ in parts ({', '.join(parts)}), not in an option; "
                "choose methods with `methods`, or take `table` ablation"
            )
    differing = [name for name in by_method[first] if len({repr(values[name]) for values in by_method.values()}) > 1]
    if option and option not in by_method[first]:
        raise BadResults(f"these methods have no option {option!r}; {did_you_mean(option, by_method[first])}")
    if not option and len(differing) != 1:
        names = f"{len(differing)} options ({', '.join(differing)})" if differing else "no option"
        raise BadResults(
            f"the methods differ in {names}; this table shows one: choose with sensitivity:PART.OPTION or `methods`"
        )
    name = option or differing[0]
    raw = {method: values[name] for method, values in by_method.items()}
    numbers = {method: number for method, values in raw.items() if (number := _number(values)) is not None}
    numbers = numbers if len(numbers) == len(raw) else {}
    shown = {
        method: plain(" / ".join(f"{value:g}" if isinstance(value, float) else str(value) for value in raw[method]))
        for method in sorted(raw, key=lambda key: numbers.get(key, 0.0))
    }
    for method, value in shown.items():
        twin = next(other for other, same in shown.items() if same == value)
        if twin != method:
            raise BadResults(f"{plain(twin)} and {plain(method)} both have {name}={value}; choose with `methods`")
    return VariedOption(name, shown, tuple(other for other in differing if other != name))


def _by_size(study: Study, method: str) -> dict[str, tuple[object, ...]]:
    """Return the values of each option at the sizes that have a record; options may be tuned by the size."""
    sizes = [
        options(next(iter(runs.values())).parts) for size in study.sizes if (runs := study.runs.get((method, size)))
    ]
    names = dict.fromkeys(name for each in sizes for name in each)
    return {name: tuple(dict.fromkeys(each.get(name) for each in sizes)) for name in names}


@lru_cache(maxsize=4096)
def options(parts: tuple[Stated, ...]) -> Options:
    """Return `infonce(temperature=0.05)@1 recipe(steps=50)@2` as {"infonce": 1, "infonce.temperature": 0.05, ...}."""
    values: dict[str, object] = {}
    for part in parts:
        values[part.part.name] = str(part.version)
        values |= {f"{part.part.name}.{name}": value for name, value in part.part.options}
    return values


def _number(values: tuple[object, ...]) -> float | None:
    value = values[0]
    return float(value) if len(values) == 1 and isinstance(value, int | float) and not isinstance(value, bool) else None


def few_shot(records: Iterable[Record], problems: Sequence[Problem] = (), query: StudyQuery = EVERYTHING) -> Table:
    """Return methods by training set size: mean and spread over seeds of the average over tasks. Raises: BadResults."""
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


def per_task(records: Iterable[Record], problems: Sequence[Problem] = (), query: StudyQuery = EVERYTHING) -> Table:
    """Return methods by tasks at one size of the training set, with an average per protocol. Raises: BadResults."""
    study = query.study(records)
    if len(study.sizes) > 1:
        known = ", ".join(map(str, study.sizes))
        raise BadResults(f"a table of tasks shows one size of the training set; choose with `sizes`, one of {known}")
    ((size, fraction),) = study.sizes.items()
    where = f"{percent(fraction)} of the corpus ({quantity(size, 'sentence')})" if size else "encoders"
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
    records: Iterable[Record], problems: Sequence[Problem] = (), query: StudyQuery = EVERYTHING, *, full: str = ""
) -> Table:
    """Return variants of a method by training set size, and their differences to it, paired by seed.

    full: the method as typed; by default the one that all others are typed from, such as msse of msse-dcm. Named
    without a choice of methods, its own variants are shown where there are any. Raises: BadResults.
    """
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
    records: Iterable[Record], problems: Sequence[Problem] = (), query: StudyQuery = EVERYTHING, *, option: str = ""
) -> Table:
    """Return values of one option by training set size, where methods differ in nothing else.

    option: such as infonce.temperature; by default the only one that differs. Others that differ too are named below
    the table. Raises: BadResults.
    """
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
