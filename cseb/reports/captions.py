"""The text below a table: what a cell is, where the numbers come from, and their limits."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from cseb.analysis.stats import Cell
from cseb.analysis.study import Study
from cseb.records.differences import tag
from cseb.records.record import Overlap, Select, Source
from cseb.records.store import Problem
from cseb.text import percent, plain, quantity

LISTED = 5  # failures and files named one by one; the rest is counted


def caption(study: Study, tasks: Sequence[str], selects: Sequence[Select]) -> str:
    """Return one sentence on what a cell of the table is."""
    if study.untrained:
        methods = {record.method for record in study.records}  # rows name them where they differ
        shared = f" ({plain(methods.pop())})" if len(methods) == 1 else ""
        return f"Scores by cseb eval{shared}; protocol {_protocols(study, tasks)}."
    n, most = len(study.seeds), max(map(len, study.runs.values()))
    seeds = f"{n} to {most}" if most > n else f"{n}"
    scores = f"Mean ± sample standard deviation over {seeds} seeds" if n > 1 else "Scores of one seed"
    if n == 1 < most:
        scores += ", or mean ± sample standard deviation over n seeds"
    dev = plain(_dev(study)[0]).partition("@")[0]
    chosen = {"best": f"best checkpoint on {dev}", "last": "last checkpoint"}
    return f"{scores}; {' and '.join(chosen[select] for select in selects)}; protocol {_protocols(study, tasks)}."


def excluded(study: Study, problems: Sequence[Problem]) -> Iterator[str]:
    """Return short sentences on rows of other versions and on records that the table leaves out."""
    if study.older:
        versions = sorted({name.rpartition(" (")[2].rstrip(")") for name in study.older})
        yield f"Rows named with a version ({_some(versions)}) were run with another version of that part."
    if study.stale:
        yield f"Excluded as out of date: {quantity(len(study.stale), 'record')}."
    if problems:
        yield f"Excluded as unreadable: {quantity(len(problems), 'file')}."
    if any(overlap.exact for record in study.records for overlap in record.overlap or ()):
        yield "Some training sentences are texts of tasks."
    if study.mixed:
        yield "Records that differ are mixed (--mixed)."


def details(
    study: Study,
    problems: Sequence[Problem],
    *,
    sizes: Mapping[int, float],
    tasks: Sequence[str],
    selects: Sequence[Select],
    cells: Sequence[tuple[str, Cell]],
    beyond: Mapping[str, Sequence[str]],
) -> Iterator[str]:
    """Return the notes on where the numbers of a table come from, and their limits.

    problems: files that cannot be read. sizes: fraction of the corpus by number of sentences. tasks, selects: those
    shown. cells: each with a name. beyond: the data that a method used beyond the subset.
    """
    encoders = sorted({tag(record.encoder) for record in study.records})
    corpus = "" if study.untrained else f"; corpus {tag(study.records[0].corpus)}"
    yield f"Encoder {_some(encoders)}{corpus}."
    shown = ", ".join(map(plain, tasks))
    yield f"Protocol: {_protocols(study, tasks)} on {shown}; tasks are averaged within each seed."
    if "best" in selects:
        dev, count = _dev(study)
        yield f"Best: the highest score on the dev set {plain(dev)} ({quantity(count, 'labelled item')})."
    if "last" in selects and not study.untrained:
        yield "Last: the last checkpoint; no labels are used to choose it."
    for method, data in beyond.items():
        yield f"† {method} uses data beyond the subset: {', '.join(plain(kind) for kind in data if kind != 'subset')}."
    if overlaps := _overlaps(study):
        yield (
            f"Training sentences include texts of tasks, in one run up to {_some(overlaps)}; cseb data overlap lists "
            "them."
        )
    large = [percent(fraction) for size, fraction in sizes.items() if size and fraction > 0.2]
    if large and any(cell.n > 1 for _, cell in cells):
        yield (
            f"At {', '.join(large)} the subsets of different seeds overlap, so ± underestimates the variance from the "
            "choice of sentences."
        )
    yield from _gaps(study, sizes, cells)
    if study.older:
        yield (
            f"Of other versions of their parts than the installed ones: {_some(study.older)}; run the benchmark again "
            "for today's numbers."
        )
    for reason, number in Counter(study.stale).items():
        yield f"Excluded as out of date: {quantity(number, 'record')} {plain(reason)}."
    if problems:
        names = _some([f"{plain(problem.path.name)} ({problem.reason})" for problem in problems])
        yield f"Excluded as unreadable: {quantity(len(problems), 'file')}: {names}."
    yield from mixed_note(study)


def signature(study: Study, sizes: Mapping[int, float], tasks: Sequence[str], selects: Sequence[Select]) -> str:
    """Return one line for an appendix: versions, methods, encoder, corpus, sizes, seeds, tasks, protocols, device."""
    first = study.records[0]
    cells = {(record.method, record.subset.size, record.resolved) for record in study.records}
    resolved = sorted({f"{method} {size} {text}" for method, size, text in cells})
    methods = hashlib.sha256("\n".join(resolved).encode()).hexdigest()
    encoders = {record.encoder for record in study.records}
    computed = {(record.protocol.device, record.protocol.threads, record.origin.dtype) for record in study.records}
    chosen = f"best:{first.protocol.dev}" if "best" in selects else ""
    return "|".join(
        plain(part).replace("|", "_")
        for part in (
            f"cseb:{','.join(sorted({record.origin.cseb for record in study.records}))}",
            f"methods@{methods[:4]}",
            ",".join(sorted(set(map(_short, encoders)))),
            "untrained" if study.untrained else _short(first.corpus),
            "f" + ",".join(f"{fraction:.3g}" for fraction in sizes.values()),
            f"s{ranges(sorted({*study.seeds, *(record.seed for record in study.records)}))}",
            ",".join(tasks),
            ",".join(sorted({study.tasks[task] for task in tasks})),
            ",".join(filter(None, (chosen, "last" if "last" in selects else ""))),
            ",".join(sorted({f"{device},{threads}t,{dtype}" for device, threads, dtype in computed})),
        )
    )


def not_shown(study: Study, tasks: Sequence[str]) -> Iterator[str]:
    """Return a sentence on the tasks of other protocols, which no average mixes."""
    others: dict[str, list[str]] = {}
    for task, protocol in study.tasks.items():
        if task not in tasks:
            others.setdefault(plain(protocol) or "no protocol yet", []).append(bare(task))
    if others:
        names = "; ".join(f"{', '.join(tasks)} ({protocol})" for protocol, tasks in others.items())
        yield f"Not shown, as they are scored by another protocol: {names}. Choose them with --tasks."


def mixed_note(study: Study) -> Iterator[str]:
    """Return differences between records that should not matter but might."""
    if study.mixed:
        yield f"Mixed (--mixed): {_some(study.mixed)}."
    origins = [record.origin for record in study.records]
    if len(machines := sorted({plain(f"{origin.machine} {origin.device}") for origin in origins})) > 1:
        yield f"Run on several machines: {_some(machines)}."
    if len(libraries := sorted({plain(origin.linear) for origin in origins if origin.linear})) > 1:
        yield f"Linear layers by several libraries, which round differently: {_some(libraries)}."


def bare(task: str) -> str:
    """Return the name of a task without its version."""
    return plain(task).rpartition("@")[0] or plain(task)


def averaged(tasks: Sequence[str]) -> str:
    """Return the name of the tasks in a title."""
    return f"average of {len(tasks)} tasks" if len(tasks) > 1 else bare(tasks[0])


def ranges(seeds: Sequence[int]) -> str:
    """Return 0, 1, 2, 5 as `0-2,5`."""
    pieces: list[list[int]] = []
    for seed in seeds:
        if pieces and seed == pieces[-1][-1] + 1:
            pieces[-1].append(seed)
        else:
            pieces.append([seed])
    return ",".join(str(piece[0]) if len(piece) == 1 else f"{piece[0]}-{piece[-1]}" for piece in pieces)


def _dev(study: Study) -> tuple[str, int]:
    """Return the dev set and its number of labelled items."""
    protocols = [record.protocol for record in study.records]
    protocol = next((protocol for protocol in protocols if protocol.dev), protocols[0])
    return protocol.dev, protocol.dev_pairs


def _protocols(study: Study, tasks: Sequence[str]) -> str:
    return ", ".join(sorted({plain(study.tasks[task]) for task in tasks} - {""})) or "of no task yet"


def _overlaps(study: Study) -> list[str]:
    """Return the largest overlap of a run for each task of which a run has seen texts."""
    largest: dict[str, Overlap] = {}
    for overlap in (overlap for record in study.records for overlap in record.overlap or ()):
        known = largest.setdefault(overlap.task, overlap)
        if (overlap.exact, overlap.near) > (known.exact, known.near):
            largest[overlap.task] = overlap
    return [plain(str(overlap)) for overlap in largest.values()]


def _gaps(study: Study, sizes: Mapping[int, float], cells: Sequence[tuple[str, Cell]]) -> Iterator[str]:
    """Return sentences on planned seeds without a score."""
    failed = [record for record in study.records if record.status == "failed" and record.subset.size in sizes]
    for record in failed[:LISTED]:
        failure = record.failure
        reason = f"step {failure.step}: {plain(failure.reason)}" if failure else "no reason given"
        yield f"Failed: {plain(record.method)}, {percent(record.subset.fraction)}, seed {record.seed} ({reason})."
    if len(failed) > LISTED:
        yield f"Failed: {quantity(len(failed) - LISTED, 'more job')}."
    planned = ((name, cell, quantity(cell.n + len(cell.absent), "seed")) for name, cell in cells)
    if collapsed := [f"{name} ({cell.collapsed} of {seeds})" for name, cell, seeds in planned if cell.collapsed]:
        yield (
            f"Collapsed (all embeddings are equal): {_some(collapsed)}; excluded from the mean, ranked lowest in "
            "median and IQM."
        )
    missing = [
        f"{name} (seed {ranges([seed for seed, reason in cell.absent.items() if reason == 'missing'])})"
        for name, cell in cells
        if cell.missing
    ]
    if missing:
        yield f"Missing: {_some(missing)}."
    few = [cell.n for _, cell in cells if 0 < cell.n < 3]
    if few and not study.untrained:
        reason = "± is unreliable" if 2 in few else "one seed has no ±"
        reason += "; a single seed has none" if {1, 2} <= set(few) else ""
        yield f"Fewer than three seeds in {len(few)} of {quantity(len(cells), 'cell')}: {reason}."


def _some(names: Sequence[str]) -> str:
    rest = len(names) - LISTED
    return "; ".join(names[:LISTED]) + (f"; and {rest} more" if rest > 0 else "")


def _short(source: Source) -> str:
    return f"{source.short}@{source.sha256[:4]}"
