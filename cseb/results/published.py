"""What papers print: every number of their tables, and under which conditions it was measured.

`benchmarks/published/` holds the scores of five papers, one per row. Papers copy each other's numbers, run baselines
again and revise their own, so that one method at one share often has several printed values: all of them are given.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from cseb.data import shipped
from cseb.errors import BadData

if TYPE_CHECKING:  # records load pydantic, which `cseb show` can do without
    from cseb.results.record import Record, Select

NEEDED = ("method", "task", "mean")
DECIMAL = re.compile(r"[+-]?[0-9]{1,9}(\.[0-9]{0,12})?", re.ASCII)  # as tables print numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class Printed:
    """One number of one table.

    mean, std: points. `text` and `std_text` are the numbers as printed, which is how one knows how they were rounded.
    fraction: share of the training set; None for encoders that are not trained, for training on NLI and where none is
    said. n_seeds: runs behind the mean, None where the paper does not say. variant: "" is the method as published.
    line: of the file.
    """

    method: str
    task: str
    mean: float
    text: str
    line: int
    paper: str = ""
    table: str = ""
    setting: str = ""
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
        """Paper and table, or the line of a file that names neither."""
        return ", ".join(filter(None, (self.paper, self.table))) or f"line {self.line}"

    @property
    def row(self) -> tuple[str, str, str, str, str, float | None]:
        """What the numbers of one row of one table share."""
        return self.paper, self.table, self.method, self.variant, self.encoder, self.fraction


class Own(NamedTuple):
    """Which printed rows are a method's own; no encoders stand for all."""

    method: str
    variants: tuple[str, ...] = ("", "with negatives")
    settings: tuple[str, ...] = ("few-shot", "unsupervised", "transfer", "ablation")
    encoders: tuple[str, ...] = ()

    def holds(self, row: Printed) -> bool:
        """Whether this number was printed for the method."""
        return (
            row.method == self.method
            and row.variant in self.variants
            and row.setting in self.settings
            and (not self.encoders or row.encoder in self.encoders)
        )


_ABLATION = ("ablation",)
_COMPOSED = ("", "w/ composition", "w/ composition + subsuming")

# By what a user types, as `str(method)` writes it.
PUBLISHED = {
    "simcse": Own("simcse"),
    "micse": Own("micse"),
    "msse": Own("msse"),
    "informin-cl": Own("informin"),
    "informin-cl-mlm": Own("informin+mlm", ("", "beta=0.1"), ("ablation", "transfer")),
    "ct": Own("ct"),
    "mirror": Own("mirror"),
    "mirror-avg": Own("mirror-avg"),
    "compcse": Own("compcse", _COMPOSED, encoders=("bert-base",)),
    "compcse-large": Own("compcse", _COMPOSED, encoders=("bert-large",)),
    "compcse-roberta": Own("compcse", _COMPOSED, encoders=("roberta-base", "roberta-large")),
    "rcl": Own("rcl", settings=("supervised",)),
    "continued+attention_dropout": Own("attention-dropout", ("p=0.1",), ("supervised",)),
    "continued+drophead": Own("drophead", ("p=0.1",), ("supervised",)),
    "simcse-sup": Own("simcse", settings=("supervised",)),
    "msse+triples": Own("msse", settings=("supervised",)),
    "scd": Own("scd", encoders=("bert-base",)),
    "iscse": Own("iscse"),
    "rankcse": Own("rankcse"),
    "mixcse": Own("mixcse"),
    "diffcse": Own("diffcse"),
    "pcl": Own("pcl", encoders=("bert-base",)),
    "sg-opt": Own("sg-opt"),
    "arccse": Own("arccse", encoders=("bert-base",)),
    "esimcse": Own("esimcse", encoders=("bert-base",)),
    "consert+recipe(max_length=40)": Own("consert", encoders=("bert-large",)),
    "mocose": Own("mocose", encoders=("bert-base",)),
    "sncse": Own("sncse", encoders=("bert-base",)),
    "bert-whitening": Own("whitening"),
    "bert-flow": Own("flow"),
    "whitenedcse": Own("whitenedcse", encoders=("bert-base",)),
    "isbert": Own("is-bert"),
    "dclr": Own("dclr", encoders=("bert-base",)),
    "vascl": Own("vascl"),
    "rankencoder": Own("rankencoder"),
    "distillcse": Own("distillcse", encoders=("bert-base",)),
    "simcse+ami": Own("ami+simcse"),
    "ct+ami": Own("ami+ct"),
    "mirror+ami": Own("ami+mirror"),
    "mirror-avg+ami": Own("ami+mirror-avg"),
    "micse-ami": Own("moco+simcse", settings=_ABLATION),
    "simcse+infonce(negatives='zeroed')": Own("simcse", ("without negatives",)),
    "simcse+ami+infonce(negatives='zeroed')": Own("micse", ("without negatives",)),
    "msse-dcm": Own("msse", ("w/o DCM",), _ABLATION),
    "msse-reconstruct": Own("msse", ("w/o ICM",), _ABLATION),
    "msse-infonce": Own("msse", ("w/o NCE",), _ABLATION),
    "msse-dcm-reconstruct": Own("msse", ("w/o DCM + ICM",), _ABLATION),
    "cls": Own("plm-cls"),
    "mean": Own("plm-avg"),
    "first_last": Own("plm-first-last-avg"),
}

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
PROTOCOLS = {"spearman": "simcse-sts", "accuracy": "senteval"}  # how names of protocols start, by metric


def published(method: str, task: str, fraction: float, encoder: str) -> list[Printed]:
    """Every printed value of a method as typed, in the order of the papers; several differ more often than not.

    method: as `str(method)` writes it. task: such as sts12 or sts-avg, with or without its version. fraction: share of
    the corpus. encoder: a name on the hub, a folder called like one, or a name of the file such as bert-base.
    """
    name, base = task.partition("@")[0], encoder_id(encoder)
    return [row for row in own_rows(method) if row.task == name and row.encoder == base and _is_share(row, fraction)]


def own_rows(method: str) -> list[Printed]:
    """Everything the papers print for a method as typed, whatever task, share and encoder."""
    own = PUBLISHED.get(method)
    return [row for row in shipped_rows() if own.holds(row)] if own else []


def encoder_id(name: str) -> str:
    """What the files call an encoder: `google-bert/bert-base-uncased@main` is bert-base; "" where they know none."""
    last = name.rstrip("/").partition("@")[0].rpartition("/")[2].lower()
    return last if last in ENCODERS.values() else ENCODERS.get(last, "")


def departures(record: Record, select: Select, row: Printed) -> list[str]:
    """In which ways the conditions of a record are not those of a printed number; none means that they compare.

    What a paper does not say is not held against anybody. Recipes are no matter of protocol: `cseb show` has them.
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
            found.append(f"{100 * record.subset.fraction:g} % of the corpus, theirs {100 * row.fraction:g} %")
    return [*found, *_scored_otherwise(record, select, row)]


def _scored_otherwise(record: Record, select: Select, row: Printed) -> list[str]:
    found = []
    used = sorted({score.protocol for score in record.scores if score.select == select})
    wanted = PROTOCOLS.get(row.metric, "")
    if used and not all(name.startswith(wanted) for name in used):
        found.append(f"measured as {', '.join(used)}, theirs {wanted}")
    dev, chosen = DEV.get(row.paper, ""), record.protocol.dev.partition("@")[0] if select == "best" else ""
    if dev and record.trace is not None and record.trace.steps and chosen != dev:
        found.append(f"checkpoint: {f'best on {chosen}' if chosen else 'the last'}, theirs the best on {dev}")
    return found


def _is_share(row: Printed, fraction: float) -> bool:
    """Rows without a share: an untrained encoder is the same at every share, a training set of triples is whole."""
    if row.fraction is None:
        return row.setting != "supervised" or fraction == 1.0
    return math.isclose(row.fraction, fraction, rel_tol=1e-6)


@cache
def shipped_rows() -> tuple[Printed, ...]:
    """The scores that come with cseb; none where the file is absent."""
    path = shipped.published("scores")
    return tuple(read_scores(path)) if path.is_file() else ()


def read_scores(path: Path) -> list[Printed]:
    """Printed numbers from a CSV file with a header.

    Columns: method, task, mean; and where there are any, paper, table, setting, variant, encoder, fraction, metric,
    std, n_seeds, source_note, flag. Others are left alone. Raises: BadData, naming the line.
    """
    rows = read_table(path, NEEDED)
    return [_printed(row, path, number) for number, row in enumerate(rows, 2)]


def read_table(path: Path, needed: Sequence[str]) -> list[dict[str, str]]:
    """The rows of a CSV file by the names in its header. Raises: BadData if it lacks a needed column."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as stream:
            reader = csv.DictReader(stream, restval="")
            names = tuple(reader.fieldnames or ())
            if missing := [name for name in needed if name not in names]:
                raise BadData(f"{path} has no column {missing[0]!r}; wanted: {', '.join(needed)}; found: {names}")
            return [{name: _shown(row[name]) for name in names} for row in reader]
    except OSError as error:
        raise BadData(f"{path} cannot be read: {error.strerror}") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise BadData(f"{path} is no CSV file in UTF-8: {error}") from None


def _shown(text: str | None) -> str:
    """A cell without what a terminal would obey, on one line."""
    return "".join(letter if letter.isprintable() else " " for letter in text or "").strip()


def _printed(row: Mapping[str, str], path: Path, line: int) -> Printed:
    def number(name: str) -> float | None:
        text = row.get(name, "")
        if text and not DECIMAL.fullmatch(text):
            raise BadData(f"{path}, line {line}: {name} is {text[:40]!r}; a decimal number or nothing belongs there")
        return float(text) if text else None

    mean, seeds = number("mean"), number("n_seeds")
    if mean is None or not row["method"] or not row["task"]:
        raise BadData(f"{path}, line {line}: method, task and mean are needed in every row")
    if seeds is not None and (seeds < 1 or seeds != int(seeds)):
        raise BadData(f"{path}, line {line}: n_seeds is {row['n_seeds'][:40]!r}; a count of runs belongs there")
    words = {name: row.get(name, "") for name in ("method", "task", "paper", "table", "setting", "variant", "encoder")}
    return Printed(
        **words,
        metric=row.get("metric", ""),
        mean=mean,
        text=row["mean"],
        std=number("std"),
        std_text=row.get("std", ""),
        fraction=number("fraction"),
        n_seeds=None if seeds is None else int(seeds),
        note=row.get("source_note", ""),
        flag=row.get("flag", ""),
        line=line,
    )
