"""What papers print: every number of their tables, and under which conditions it was measured.

`benchmarks/published/` holds the scores of five papers, one per row. Papers copy each other's numbers, run baselines
again and revise their own, so that one method at one fraction often has several printed values: all of them are given.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from cseb.registry import TASK_GROUPS
from cseb.text import percent

if TYPE_CHECKING:  # records load pydantic, which `cseb show` can do without
    from cseb.records.record import Record, Select
from cseb.papers.printed import Printed, shipped_rows

# Names on the hub, in small letters and without their owner, and what the files of published numbers call them.
ENCODERS = {
    "bert-base-uncased": "bert-base",
    "bert-large-uncased": "bert-large",
    "roberta-base": "roberta-base",
    "roberta-large": "roberta-large",
    "nli-roberta-base": "sroberta-base",
    "nli-roberta-base-v2": "sroberta-base",
}

# Papers that say which checkpoint they print: the best on these rated pairs. The others say nothing.
DEV = dict.fromkeys(("informin-cl", "msse", "rcl", "compcse"), "stsb-dev")
SENTENCES = 1_000_000  # of English Wikipedia: what every unsupervised row of these papers calls 100 %
PROTOCOLS = {"spearman": "simcse-sts", "accuracy": "senteval-transfer", "map": "faq-retrieval"}  # by metric

# Averages that the papers print, and the tasks they are over.
AVERAGES: Mapping[str, tuple[str, ...]] = {"sts-avg": TASK_GROUPS["sts"], "transfer-avg": TASK_GROUPS["transfer"]}


def printed_name(tasks: Sequence[str]) -> str:
    """What the papers call this task or average, such as sts12 or sts-avg; "" for an average that none of them has."""
    names = tuple(task.partition("@")[0] for task in tasks)
    if len(names) == 1:
        return names[0]
    return next((average for average, members in AVERAGES.items() if set(names) == set(members)), "")


def printed_names(tasks: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """By what the papers call it, every average whose tasks are all among these, and every task that is in none.

    tasks: with their versions, as records name them; so are those that come back.
    """
    versioned = {task.partition("@")[0]: task for task in tasks}
    whole = {name: members for name, members in AVERAGES.items() if set(members) <= set(versioned)}
    averaged = {task for members in whole.values() for task in members}
    found = {name: tuple(versioned[task] for task in members) for name, members in whole.items()}
    return found | {name: (task,) for name, task in versioned.items() if name not in averaged}


def published(method: str, task: str, fraction: float, encoder: str = "any") -> list[Printed]:
    """Return every printed value of a method, in the order of the papers; papers often print different values.

    Args:
        method: as `str(method)` writes it.
        task: such as sts12 or sts-avg, with or without its version.
        fraction: of the corpus.
        encoder: a name on the hub, a folder called like one, a name of the file such as bert-base, or any.
    """
    name, base = task.partition("@")[0], encoder_id(encoder)
    return [
        row
        for row in own_rows(method)
        if row.task == name and (encoder == "any" or row.encoder == base) and _has_fraction(row, fraction)
    ]


def own_rows(method: str) -> list[Printed]:
    """Return every printed number of a method as typed, whatever the task, fraction and encoder."""
    return [row for row in shipped_rows() if method and row.cseb_method == method]


def encoder_id(name: str) -> str:
    """What the files call an encoder: `google-bert/bert-base-uncased@main` is bert-base; "" where they know none."""
    last = name.rstrip("/").partition("@")[0].rpartition("/")[2].lower()
    return last if last in ENCODERS.values() else ENCODERS.get(last, "")


def departures(record: Record, select: Select, row: Printed, tasks: Sequence[str] = ()) -> list[str]:
    """In which ways the conditions of a record are not those of a printed number; none means that they compare.

    tasks: those of the record that stand beside the number, all by default. What a paper does not say is not held
    against anybody. Recipes are no matter of protocol: `cseb show` has them.
    """
    found = []
    base, sentences = encoder_id(record.encoder.name), round(record.subset.size / record.subset.fraction)
    if row.encoder and base != row.encoder:
        found.append(f"encoder {record.encoder.name}, theirs {row.encoder}")
    if row.setting == "supervised":
        if "labels" not in record.data_seen:
            found.append("no labelled triples, theirs NLI")
    elif row.fraction is not None:
        if sentences != SENTENCES:
            found.append(f"corpus of {sentences:,} sentences, theirs {SENTENCES:,}")
        if not math.isclose(record.subset.fraction, row.fraction, rel_tol=1e-6):
            found.append(f"{percent(record.subset.fraction)} of the corpus, theirs {percent(row.fraction)}")
    return [*found, *_scored_otherwise(record, select, row, tasks)]


def _scored_otherwise(record: Record, select: Select, row: Printed, tasks: Sequence[str]) -> list[str]:
    found = []
    if tasks and row.task in AVERAGES and printed_name(tasks) != row.task:
        here = "1 task" if len(tasks) == 1 else f"the average of {len(tasks)} tasks"
        found.append(f"{here}, theirs of {', '.join(AVERAGES[row.task])}")
    scores = [score for score in record.scores if score.select == select and (not tasks or score.task in tasks)]
    used, wanted = sorted({score.protocol for score in scores}), PROTOCOLS.get(row.metric, "")
    if used and not all(name.startswith(wanted) for name in used):
        found.append(f"measured as {', '.join(used)}, theirs {wanted}")
    dev, chosen = DEV.get(row.paper, ""), record.protocol.dev.partition("@")[0] if select == "best" else ""
    if dev and record.trace is not None and record.trace.steps and chosen != dev:
        found.append(f"checkpoint: {f'best on {chosen}' if chosen else 'the last'}, theirs the best on {dev}")
    return found


def _has_fraction(row: Printed, fraction: float) -> bool:
    """Rows without a fraction: an untrained encoder is the same at every fraction, triples are always whole."""
    if row.fraction is None:
        return row.setting != "supervised" or fraction == 1.0
    return math.isclose(row.fraction, fraction, rel_tol=1e-6)
