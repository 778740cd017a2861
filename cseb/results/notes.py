"""What stands below a table: where its numbers come from, and what they do not say."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from cseb.results.record import Record, Select, Source
from cseb.results.stats import Cell, Spread
from cseb.results.store import Problem, plain
from cseb.results.study import Study, percent, tag

LISTED = 5  # failures and files named one by one; the rest is counted


SPREADS: dict[Spread, str] = {
    "std": "Mean ± sample standard deviation",
    "ci95": "Mean ± half of Student's 95 % interval of the mean",
    "sem": "Mean ± standard error of the mean",
    "range": "Mean [lowest, highest seed]",
}


def caption(
    study: Study, tasks: Sequence[str], selects: Sequence[Select], spread: Spread = "std", *, marked: str = ""
) -> str:
    """What a cell of the table is: which spread over how many seeds, of which points, at which checkpoint."""
    protocol = next((one.protocol for one in study.records if one.protocol.dev), study.records[0].protocol)
    n = len(study.seeds)
    over = f"over n = {n} seeds ({runs(study.seeds)})" if n > 1 else f"of one seed ({study.seeds[0]}), hence no spread"
    measures = ", ".join(sorted({plain(study.tasks[task]) for task in tasks} - {""})) or "no protocol yet"
    if study.untrained:
        over, n = "of encoders as they stand, hence no spread", 1
    sentences = [
        f"{SPREADS[spread] if n > 1 else 'Points'} {over}, tasks averaged within a seed.",
        f"Points of {measures} on {', '.join(map(plain, tasks))}.",
    ]
    if "best" in selects:
        looked = f"{protocol.dev_pairs:,} labelled pairs looked at"
        sentences.append(f"Best: the checkpoint with the highest score on {plain(protocol.dev)} ({looked}).")
    if "last" in selects and not study.untrained:
        sentences.append("Last: the last checkpoint, no label looked at.")
    if marked:
        sentences.append(marked)
    return " ".join(sentences)


def footnotes(
    study: Study,
    problems: Sequence[Problem],
    *,
    sizes: Mapping[int, float],
    tasks: Sequence[str],
    cells: Sequence[tuple[str, Cell]],
    beyond: Mapping[str, Sequence[str]],
) -> Iterator[str]:
    """Where the numbers of a table come from, and what they do not say.

    cells: all of them, each with a name to speak of it; beyond: methods that saw more than the subset, and what.
    """
    first = study.records[0]
    encoders = {one.encoder.sha256: tag(one.encoder) for one in study.records}
    corpus = "" if study.untrained else f"; corpus {tag(first.corpus)}"
    yield f"Encoder {_some(sorted(encoders.values()))}{corpus}."
    if any("microworld" in name for name in (first.corpus.name, *tasks, *study.tasks.values())):
        yield "Embedded microworld: says nothing about real text."
    for method, seen in beyond.items():
        yield f"† {method} has seen more than the subset: {', '.join(plain(one) for one in seen if one != 'subset')}."
    if wide := [percent(fraction) for size, fraction in sizes.items() if size and fraction > 0.2]:
        yield f"At {', '.join(wide)} the subsets of different seeds share many sentences: ± holds less of their choice."
    yield from _gaps(study, sizes, cells)
    yield from _left_out(study, problems)
    yield from _mixed(study)


def signature(study: Study, sizes: Mapping[int, float], tasks: Sequence[str], selects: Sequence[Select]) -> str:
    """One line that goes into an appendix: what was run with what, on what, scored how."""
    first = study.records[0]
    resolved = sorted({f"{one.method} {one.subset.size} {one.resolved}" for one in study.records})
    methods = hashlib.sha256("\n".join(resolved).encode()).hexdigest()
    chosen = f"best:{first.protocol.dev}" if "best" in selects else ""
    return "|".join(
        plain(part).replace("|", "_")
        for part in (
            f"cseb:{','.join(sorted({one.origin.cseb for one in study.records}))}",
            f"methods@{methods[:4]}",
            ",".join(sorted({_short(one.encoder) for one in study.records})),
            "untrained" if study.untrained else _short(first.corpus),
            "f" + ",".join(f"{fraction:.3g}" for fraction in sizes.values()),
            f"s{runs(study.seeds)}",
            ",".join(tasks),
            ",".join(sorted({study.tasks[task] for task in tasks})),
            ",".join(filter(None, (chosen, "last" if "last" in selects else ""))),
            ",".join(
                sorted({f"{one.protocol.device},{one.protocol.threads}t,{one.origin.dtype}" for one in study.records})
            ),
        )
    )


def _gaps(study: Study, sizes: Mapping[int, float], cells: Sequence[tuple[str, Cell]]) -> Iterator[str]:
    """Seeds that a cell should have and has not."""
    failed = [one for one in study.records if one.status == "failed" and one.subset.size in sizes]
    for one in failed[:LISTED]:
        reason = f"step {one.failure.step}: {plain(one.failure.reason)}" if one.failure else "no reason given"
        yield f"Failed: {plain(one.method)}, {percent(one.subset.fraction)}, seed {one.seed} ({reason})."
    if len(failed) > LISTED:
        yield f"Failed: {len(failed) - LISTED} more jobs."
    collapsed, missing, thin = (
        [f"{name} ({found.collapsed} of {len(study.seeds)} seeds)" for name, found in cells if found.collapsed],
        [f"{name} (seed {runs(_lacking(found))})" for name, found in cells if found.missing],
        sum(0 < found.n < 3 for _, found in cells),
    )
    if collapsed:
        yield f"Collapsed, all vectors alike: {_some(collapsed)}; in no mean, below all others in median and IQM."
    if missing:
        yield f"Missing: {_some(missing)}."
    if thin and not study.untrained:
        yield f"Fewer than three seeds in {thin} of {len(cells)} cells: their ± says little."


def _left_out(study: Study, problems: Sequence[Problem]) -> Iterator[str]:
    for reason, count in Counter(study.stale).items():
        yield f"Stale, left out: {count} records {plain(reason)}."
    if problems:
        named = _some([f"{plain(one.path.name)} ({one.reason})" for one in problems])
        yield f"Unreadable, left out: {len(problems)} files: {named}."


def _mixed(study: Study) -> Iterator[str]:
    """Differences that should not matter, or were asked to be ignored, said because they might matter."""
    if study.mixed:
        yield f"Mixed, as asked for: {_some(study.mixed)}."
    if len(found := {_where(one) for one in study.records}) > 1:
        yield f"Made on several machines: {_some(sorted(map(plain, found)))}."


def _where(record: Record) -> str:
    return f"{record.origin.machine} {record.origin.device}"


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
