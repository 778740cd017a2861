"""What stands below a table: where its numbers come from, and their limits."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from cseb.analysis.comparable import tag
from cseb.analysis.stats import Cell, Spread
from cseb.analysis.study import Study
from cseb.records.record import Overlap, Select, Source
from cseb.records.record_file import Problem
from cseb.text import percent, plain, quantity

LISTED = 5  # failures and files named one by one; the rest is counted


SPREADS: dict[Spread, str] = {
    "std": "Mean ± sample standard deviation",
    "ci95": "Mean ± half the width of the 95 % confidence interval of the mean (Student's t)",
    "sem": "Mean ± standard error of the mean",
    "range": "Mean [minimum, maximum over seeds]",
}


def caption(
    study: Study, tasks: Sequence[str], selects: Sequence[Select], spread: Spread = "std", *, marked: str = ""
) -> str:
    """What a cell of the table is: which spread over how many seeds, of which points, at which checkpoint."""
    protocol = next((one.protocol for one in study.records if one.protocol.dev), study.records[0].protocol)
    n = len(study.seeds)
    over = (
        f"over n = {quantity(n, 'seed')} ({runs(study.seeds)})"
        if n > 1
        else f"of one seed ({study.seeds[0]}), so no spread is given"
    )
    if study.untrained:
        over, n = "of encoders without training, so no spread is given", 1
    sentences = [
        f"{SPREADS[spread] if n > 1 else 'Scores'} {over}; tasks are averaged within each seed.",
        f"Protocol: {_measures(study, tasks)} on {', '.join(map(plain, tasks))}.",
    ]
    if "best" in selects:
        used = quantity(protocol.dev_pairs, "labelled item")
        sentences.append(f"Best: the checkpoint with the highest score on the dev set {plain(protocol.dev)} ({used}).")
    if "last" in selects and not study.untrained:
        sentences.append("Last: the last checkpoint; no labels are used to choose it.")
    if marked:
        sentences.append(marked)
    return " ".join(sentences)


def short_caption(study: Study, tasks: Sequence[str], selects: Sequence[Select], spread: Spread = "std") -> str:
    """Return one sentence on what a cell of the table is."""
    protocol = next((record.protocol for record in study.records if record.protocol.dev), study.records[0].protocol)
    n = len(study.seeds)
    if study.untrained:
        return f"Scores of untrained encoders; protocol {_measures(study, tasks)}."
    scores = f"{SPREADS[spread].partition(' (')[0]} over {n} seeds" if n > 1 else "Scores of one seed"
    chosen = {"best": f"best checkpoint on {plain(protocol.dev).partition('@')[0]}", "last": "last checkpoint"}
    return f"{scores}; {' and '.join(chosen[select] for select in selects)}; protocol {_measures(study, tasks)}."


def left_out(study: Study, problems: Sequence[Problem]) -> Iterator[str]:
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
    if (scope := study.records[0].vary) != "all":
        yield f"The seed decides the {scope} only."
    if study.mixed:
        yield "Records that differ are mixed (--mixed)."


def _measures(study: Study, tasks: Sequence[str]) -> str:
    return ", ".join(sorted({plain(study.tasks[task]) for task in tasks} - {""})) or "of no task yet"


def footnotes(
    study: Study,
    problems: Sequence[Problem],
    *,
    sizes: Mapping[int, float],
    tasks: Sequence[str],
    cells: Sequence[tuple[str, Cell]],
    beyond: Mapping[str, Sequence[str]],
) -> Iterator[str]:
    """Where the numbers of a table come from, and their limits.

    cells: all of them, each with a name to speak of it; beyond: methods that saw more than the subset, and what.
    """
    first = study.records[0]
    encoders = {one.encoder.sha256: one.encoder for one in study.records}
    corpus = "" if study.untrained else f"; corpus {tag(first.corpus)}"
    yield f"Encoder {_some(sorted(map(tag, encoders.values())))}{corpus}."
    for method, seen in beyond.items():
        yield (f"† {method} uses data beyond the subset: {', '.join(plain(one) for one in seen if one != 'subset')}.")
    if trained_on := _overlap(study):
        yield (
            f"Training sentences hold texts of tasks, in one run up to {_some(trained_on)}; "
            "cseb data overlap shows which."
        )
    several = any(found.n > 1 for _, found in cells)  # of one seed there is no ± to speak of
    if several and (wide := [percent(fraction) for size, fraction in sizes.items() if size and fraction > 0.2]):
        yield (
            f"At {', '.join(wide)} the subsets of different seeds overlap, so ± underestimates the variance from the "
            "choice of sentences."
        )
    yield from _gaps(study, sizes, cells)
    yield from _left_out(study, problems)
    yield from mixed_note(study)


def signature(study: Study, sizes: Mapping[int, float], tasks: Sequence[str], selects: Sequence[Select]) -> str:
    """One line that goes into an appendix: what was run with what, on what, scored how."""
    first = study.records[0]
    # Texts are made of what differs: many records share their encoder, and their seeds the method.
    cells = {(one.method, one.subset.size, one.resolved) for one in study.records}
    resolved = sorted({f"{method} {size} {text}" for method, size, text in cells})
    methods = hashlib.sha256("\n".join(resolved).encode()).hexdigest()
    encoders = {one.encoder for one in study.records}
    computed = {(one.protocol.device, one.protocol.threads, one.origin.dtype) for one in study.records}
    chosen = f"best:{first.protocol.dev}" if "best" in selects else ""
    return "|".join(
        plain(part).replace("|", "_")
        for part in (
            f"cseb:{','.join(sorted({one.origin.cseb for one in study.records}))}",
            f"methods@{methods[:4]}",
            ",".join(sorted(set(map(_short, encoders)))),
            "untrained" if study.untrained else _short(first.corpus),
            "f" + ",".join(f"{fraction:.3g}" for fraction in sizes.values()),
            f"s{runs(study.seeds)}",
            ",".join(tasks),
            ",".join(sorted({study.tasks[task] for task in tasks})),
            ",".join(filter(None, (chosen, "last" if "last" in selects else ""))),
            ",".join(sorted({f"{device},{threads}t,{dtype}" for device, threads, dtype in computed})),
        )
    )


def not_shown(study: Study, tasks: Sequence[str]) -> Iterator[str]:
    """Tasks that a user who named none may not know of: those of other protocols, which no average mixes."""
    further: dict[str, list[str]] = {}
    for task, protocol in study.tasks.items():
        if task not in tasks:
            further.setdefault(plain(protocol) or "no protocol yet", []).append(plain(task).partition("@")[0])
    if further:
        named = "; ".join(f"{', '.join(names)} ({protocol})" for protocol, names in further.items())
        yield f"Not shown, as they are scored by another protocol: {named}. Choose them with --tasks."


def _overlap(study: Study) -> list[str]:
    """For each task of which a run has seen texts, the largest overlap of a run."""
    most: dict[str, Overlap] = {}
    for one in (one for record in study.records for one in record.overlap or ()):
        if one.task not in most or (one.exact, one.near) > (most[one.task].exact, most[one.task].near):
            most[one.task] = one
    return [plain(str(one)) for one in most.values()]


def _gaps(study: Study, sizes: Mapping[int, float], cells: Sequence[tuple[str, Cell]]) -> Iterator[str]:
    """Seeds that a cell should have and has not."""
    failed = [one for one in study.records if one.status == "failed" and one.subset.size in sizes]
    for one in failed[:LISTED]:
        reason = f"step {one.failure.step}: {plain(one.failure.reason)}" if one.failure else "no reason given"
        yield f"Failed: {plain(one.method)}, {percent(one.subset.fraction)}, seed {one.seed} ({reason})."
    if len(failed) > LISTED:
        yield f"Failed: {quantity(len(failed) - LISTED, 'more job')}."
    collapsed, missing, thin = (
        [
            f"{name} ({found.collapsed} of {quantity(len(study.seeds), 'seed')})"
            for name, found in cells
            if found.collapsed
        ],
        [f"{name} (seed {runs(_lacking(found))})" for name, found in cells if found.missing],
        [found.n for _, found in cells if 0 < found.n < 3],
    )
    if collapsed:
        yield (
            f"Collapsed (all embeddings are equal): {_some(collapsed)}; excluded from the mean, ranked lowest in "
            "median and IQM."
        )
    if missing:
        yield f"Missing: {_some(missing)}."
    if thin and not study.untrained:
        why = "± is unreliable" if 2 in thin else "one seed has no ±"
        why += "; a single seed has none" if {1, 2} <= set(thin) else ""
        yield f"Fewer than three seeds in {len(thin)} of {quantity(len(cells), 'cell')}: {why}."


def _left_out(study: Study, problems: Sequence[Problem]) -> Iterator[str]:
    if study.older:
        yield (
            f"Of other versions of their parts than the installed ones: {_some(study.older)}; run the benchmark again "
            "for today's numbers."
        )
    for reason, count in Counter(study.stale).items():
        yield f"Excluded as out of date: {quantity(count, 'record')} {plain(reason)}."
    if problems:
        named = _some([f"{plain(one.path.name)} ({one.reason})" for one in problems])
        yield f"Excluded as unreadable: {quantity(len(problems), 'file')}: {named}."


def mixed_note(study: Study) -> Iterator[str]:
    """Return what the seeds vary if it is not everything, and differences that should not matter but might."""
    if (scope := study.records[0].vary) != "all":
        yield f"The seed decides the {scope} only; all other random numbers are those of seed 0."
    if study.mixed:
        yield f"Mixed (--mixed): {_some(study.mixed)}."
    places = {(one.origin.machine, one.origin.device) for one in study.records}
    if len(found := {f"{machine} {device}" for machine, device in places}) > 1:
        yield f"Run on several machines: {_some(sorted(map(plain, found)))}."
    if len(found := {one.origin.linear for one in study.records if one.origin.linear}) > 1:
        yield f"Linear layers by several libraries, which round differently: {_some(sorted(map(plain, found)))}."


def _lacking(found: Cell) -> list[int]:
    return [seed for seed, reason in found.absent.items() if reason == "missing"]


def _some(names: Sequence[str]) -> str:
    rest = len(names) - LISTED
    return "; ".join(names[:LISTED]) + (f"; and {rest} more" if rest > 0 else "")


def _short(source: Source) -> str:
    return f"{source.name.rstrip('/').rpartition('/')[2]}@{source.sha256[:4]}"


def runs(seeds: Sequence[int]) -> str:
    """0, 1, 2, 5 as `0-2,5`."""
    pieces: list[list[int]] = []
    for seed in seeds:
        if pieces and seed == pieces[-1][-1] + 1:
            pieces[-1].append(seed)
        else:
            pieces.append([seed])
    return ",".join(str(piece[0]) if len(piece) == 1 else f"{piece[0]}-{piece[-1]}" for piece in pieces)
