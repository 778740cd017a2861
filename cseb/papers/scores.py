"""What papers print: every number of their tables, and under which conditions it was measured.

`benchmarks/published/` holds the scores of five papers, one per row. Papers copy each other's numbers, run baselines
again and revise their own, so that one method at one fraction often has several printed values: all of them are given.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from cseb.registry import TASK_GROUPS
from cseb.text import percent

if TYPE_CHECKING:  # records load pydantic, which `cseb show` can do without
    from cseb.records.record import RecordSummary, Select
from cseb.papers.printed import Printed, shipped_rows


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
    "declutr": Own("declutr"),
    "promcse-sup": Own("promcse", settings=("supervised",)),
    "ct-sbert": Own("ct-sbert", settings=("supervised",)),
    "entropy-model": Own("entropy-model", ("phi=0.01",)),
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
    "l2p-csr": Own("l2p-csr", encoders=("bert-base", "bert-large")),
    "l2p-csr+learnt_mask_nce(points=2)": Own("l2p-csr", encoders=("roberta-base", "roberta-large")),
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
PROTOCOLS = {"spearman": "simcse-sts", "accuracy": "senteval-transfer", "map": "faq-retrieval"}  # by metric

# Averages that the papers print, and the tasks they are over.
AVERAGES: Mapping[str, tuple[str, ...]] = {"sts-avg": TASK_GROUPS["sts"], "transfer-avg": TASK_GROUPS["transfer"]}
# Which of them is nearest to tasks that no paper has, by what these measure: the names of protocols.
NEAREST = {
    "sts-avg": ("simcse-sts", "microworld-sts"),
    "transfer-avg": ("senteval-transfer", "senteval-fast", "senteval-exact", "logreg", "microworld-transfer"),
}


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


def nearest_average(record: RecordSummary) -> str:
    """The printed average that measures what the tasks of a record measure, whichever they are; "" for none."""
    kinds = {score.protocol.partition("@")[0].partition("(")[0] for score in record.scores}
    return next((name for name, near in NEAREST.items() if kinds and kinds <= set(near)), "")


def published(method: str, task: str, fraction: float, encoder: str) -> list[Printed]:
    """Every printed value of a method as typed, in the order of the papers; several differ more often than not.

    method: as `str(method)` writes it. task: such as sts12 or sts-avg, with or without its version. fraction: share of
    the corpus. encoder: a name on the hub, a folder called like one, or a name of the file such as bert-base.
    """
    name, base = task.partition("@")[0], encoder_id(encoder)
    return [row for row in own_rows(method) if row.task == name and row.encoder == base and _is_share(row, fraction)]


def own_rows(method: str) -> list[Printed]:
    """Everything the papers print for a method as typed, whatever task, fraction and encoder."""
    own = PUBLISHED.get(method)
    return [row for row in shipped_rows() if own.holds(row)] if own else []


def encoder_id(name: str) -> str:
    """What the files call an encoder: `google-bert/bert-base-uncased@main` is bert-base; "" where they know none."""
    last = name.rstrip("/").partition("@")[0].rpartition("/")[2].lower()
    return last if last in ENCODERS.values() else ENCODERS.get(last, "")


def departures(record: RecordSummary, select: Select, row: Printed, tasks: Sequence[str] = ()) -> list[str]:
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


def _scored_otherwise(record: RecordSummary, select: Select, row: Printed, tasks: Sequence[str]) -> list[str]:
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


def _is_share(row: Printed, fraction: float) -> bool:
    """Rows without a fraction: an untrained encoder is the same at every fraction, triples are always whole."""
    if row.fraction is None:
        return row.setting != "supervised" or fraction == 1.0
    return math.isclose(row.fraction, fraction, rel_tol=1e-6)
