"""Scores that papers report for a method, fraction, encoder and task, and the conditions they were measured under.

`benchmarks/published/` has the scores of five papers, one per row. Papers copy each other's numbers, run baselines
again and revise their own, so that one method at one fraction often has several published scores: all are returned.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from cseb.data import shipped
from cseb.data.bounded import readable
from cseb.registry import TASK_GROUPS
from cseb.text import percent

if TYPE_CHECKING:  # records load pydantic, which `cseb show` can do without
    from cseb.records.record import Record, Select


TEXTS = ("method", "task", "paper", "table", "setting", "cseb_method", "variant", "encoder", "metric", "flag")


@dataclass(frozen=True, slots=True, kw_only=True)
class Printed:
    """One number of one table.

    mean, std: scores. text, std_text: the numbers as printed, which shows how they were rounded. fraction: part of the
    training set; None for untrained encoders, for training on NLI and where none is stated. n_seeds: runs of the mean,
    None where the paper does not say. variant: "" is the method as published. cseb_method: the method of cseb that the
    row reports, as `str(method)` writes it; "" if there is none. line: of the file.
    """

    method: str
    task: str
    mean: float
    text: str
    line: int
    paper: str = ""
    table: str = ""
    setting: str = ""
    cseb_method: str = ""
    variant: str = ""
    encoder: str = ""
    metric: str = ""
    fraction: float | None = None
    std: float | None = None
    std_text: str = ""
    n_seeds: int | None = None
    note: str = ""
    flag: str = ""

    @property
    def where(self) -> str:
        """Return paper and table, or the line of a file that names neither."""
        return ", ".join(filter(None, (self.paper, self.table))) or f"line {self.line}"

    @property
    def row(self) -> tuple[str, str, str, str, str, float | None]:
        """Return the properties that the numbers of one row of one table share."""
        return self.paper, self.table, self.method, self.variant, self.encoder, self.fraction


@cache
def shipped_rows() -> tuple[Printed, ...]:
    """Return the scores that come with cseb; none if the file is absent."""
    path = shipped.published_scores()
    return tuple(read_scores(path)) if path.is_file() else ()


def read_scores(path: Path) -> list[Printed]:
    """Return the numbers in a CSV file with a header: method, task, mean, and further columns of `Printed`."""
    return [_printed(row, line) for line, row in enumerate(read_table(path), 2)]


def read_table(path: Path) -> list[dict[str, str]]:
    """Return the rows of a CSV file by the names in its header. Raises: BadData."""
    with readable(path), path.open(encoding="utf-8-sig", newline="") as file:
        return [{name: text.strip() for name, text in row.items()} for row in csv.DictReader(file, restval="")]


def _printed(row: Mapping[str, str], line: int) -> Printed:
    std, fraction = (float(text) if (text := row.get(name)) else None for name in ("std", "fraction"))
    return Printed(
        **{name: row.get(name, "") for name in TEXTS},
        mean=float(row["mean"]),
        text=row["mean"],
        std=std,
        std_text=row.get("std", ""),
        fraction=fraction,
        n_seeds=int(seeds) if (seeds := row.get("n_seeds")) else None,
        note=row.get("source_note", ""),
        line=line,
    )


# Names on the hub, in lower case and without their owner, and the names in the files of published numbers.
ENCODERS = {
    "bert-base-uncased": "bert-base",
    "bert-large-uncased": "bert-large",
    "roberta-base": "roberta-base",
    "roberta-large": "roberta-large",
    "nli-roberta-base": "sroberta-base",
    "nli-roberta-base-v2": "sroberta-base",
}
# Papers that state which checkpoint they report: the best on these rated pairs. The others do not say.
DEV = dict.fromkeys(("informin-cl", "msse", "rcl", "compcse"), "stsb-dev")
SENTENCES = 1_000_000  # of English Wikipedia: what every unsupervised row of these papers calls 100 %
PROTOCOLS = {"spearman": "simcse-sts", "accuracy": "senteval-transfer"}  # by metric
# Averages that the papers report, and their tasks.
AVERAGES: Mapping[str, tuple[str, ...]] = {"sts-avg": TASK_GROUPS["sts"], "transfer-avg": TASK_GROUPS["transfer"]}


def printed_name(tasks: Sequence[str]) -> str:
    """Return the papers' name of a task or average, such as sts12 or sts-avg; "" for any other average."""
    names = tuple(task.partition("@")[0] for task in tasks)
    if len(names) == 1:
        return names[0]
    return next((average for average, members in AVERAGES.items() if set(names) == set(members)), "")


def published(method: str, task: str, fraction: float, encoder: str = "any") -> list[Printed]:
    """Return every published score of a method, in the order of the papers.

    method: as `str(method)` writes it. task: such as sts12 or sts-avg, with or without its version. encoder: a name on
    the hub, a folder called like one, a name of the file such as bert-base, or any.
    """
    name, base = task.partition("@")[0], encoder_id(encoder)
    return [
        row
        for row in own_rows(method)
        if row.task == name and (encoder == "any" or row.encoder == base) and _has_fraction(row, fraction)
    ]


def own_rows(method: str) -> list[Printed]:
    """Return every published number of a method as typed, whatever the task, fraction and encoder."""
    return [row for row in shipped_rows() if method and row.cseb_method == method]


def encoder_id(name: str) -> str:
    """Return the files' name of an encoder: `google-bert/bert-base-uncased@main` is bert-base; "" for others."""
    last = name.rstrip("/").partition("@")[0].rpartition("/")[2].lower()
    return last if last in ENCODERS.values() else ENCODERS.get(last, "")


def departures(record: Record, select: Select, row: Printed, tasks: Sequence[str] = ()) -> Iterator[str]:
    """Yield the conditions of a record that differ from those of a published number; none means that they compare.

    tasks: the record's tasks beside the number, all by default. What a paper does not state is not compared; nor are
    recipes, which `cseb show` has.
    """
    sentences = round(record.subset.size / record.subset.fraction)
    if row.encoder and encoder_id(record.encoder.name) != row.encoder:
        yield f"encoder {record.encoder.name}, theirs {row.encoder}"
    if row.setting == "supervised" and "labels" not in record.data_seen:
        yield "no labelled triples, theirs NLI"
    if row.setting != "supervised" and row.fraction is not None:
        if sentences != SENTENCES:
            yield f"corpus of {sentences:,} sentences, theirs {SENTENCES:,}"
        if not math.isclose(record.subset.fraction, row.fraction, rel_tol=1e-6):
            yield f"{percent(record.subset.fraction)} of the corpus, theirs {percent(row.fraction)}"
    if tasks and row.task in AVERAGES and printed_name(tasks) != row.task:
        ours = "1 task" if len(tasks) == 1 else f"the average of {len(tasks)} tasks"
        yield f"{ours}, theirs of {', '.join(AVERAGES[row.task])}"
    scores = [score for score in record.scores if score.select == select and (not tasks or score.task in tasks)]
    used, wanted = sorted({score.protocol for score in scores}), PROTOCOLS.get(row.metric, "")
    if used and not all(name.startswith(wanted) for name in used):
        yield f"measured as {', '.join(used)}, theirs {wanted}"
    dev, chosen = DEV.get(row.paper, ""), record.protocol.dev.partition("@")[0] if select == "best" else ""
    if dev and record.trace is not None and record.trace.steps and chosen != dev:
        yield f"checkpoint: {f'best on {chosen}' if chosen else 'the last'}, theirs the best on {dev}"


def _has_fraction(row: Printed, fraction: float) -> bool:
    """Return whether a row is of this fraction; untrained encoders have any, labelled triples are always whole."""
    if row.fraction is None:
        return row.setting != "supervised" or fraction == 1.0
    return math.isclose(row.fraction, fraction, rel_tol=1e-6)
