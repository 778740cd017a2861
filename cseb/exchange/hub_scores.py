"""Scores with the data set on the Hugging Face hub that they were computed on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from cseb.data.manifest import data_sets
from cseb.errors import CsebError
from cseb.records.record import Record, Score
from cseb.registry import MTEB_PREFIX
from cseb.tasks.mteb_tasks import library_task

CHECKPOINT: Final = "best"  # the checkpoint that is exported; the last one if there is no dev set
# Splits of the files in princeton-nlp/datasets-for-simcse; the other tasks there use all rows in folds.
TEST = {"sts12", "sts13", "sts14", "sts15", "sts16", "stsb", "sickr", "sst2", "trec", "mrpc"}
METRICS = {"simcse-sts": "cosine_spearman"}  # of a protocol; any other protocol gives its own name


@dataclass(frozen=True, slots=True)
class HubScore:
    """A score and its data set.

    config, split, revision: of that data set; None if not known.
    """

    task: str  # name of the task; for mteb one for each subset and split, such as Banking77Classification_default_test
    protocol: str  # name and version of the protocol
    metric: str  # main metric of the protocol, such as cosine_spearman
    value: float  # the score, 0 to 100
    dataset: str = ""  # id of the data set on the hub; "" if it has none
    config: str | None = None
    split: str | None = None
    revision: str | None = None


def exported_scores(record: Record) -> list[Score]:
    """Return the scores of the exported checkpoint; an encoder that was not trained has the last one only."""
    best = [score for score in record.scores if score.select == CHECKPOINT]
    return best or list(record.scores)


def hub_scores(record: Record) -> list[HubScore]:
    """Return the scores of the exported checkpoint, without those of a collapsed encoder."""
    return [
        hub_score
        for score in exported_scores(record)
        if score.value is not None
        for hub_score in _hub_scores(score, score.value)
    ]


def _hub_scores(score: Score, value: float) -> Iterator[HubScore]:
    name = score.task.partition("@")[0]
    protocol = score.protocol.partition("@")[0]
    metric = METRICS.get(protocol, protocol)
    if name.startswith(MTEB_PREFIX):
        try:
            metadata = library_task(name).metadata
        except CsebError:  # mteb is not installed, or has no such task in this version
            yield HubScore(name, score.protocol, metric, value)
            return
        for key, figure in score.detail.items():
            metric, split, subset = key.split("/", 2)
            if figure is not None:
                task = f"{metadata.name}_{subset}_{split}"
                place = (metadata.dataset["path"], subset, split, metadata.dataset["revision"])
                yield HubScore(task, score.protocol, metric, figure, *place)
        return
    data = next((data for data in data_sets().values() if data.hub is not None and data.serves(name)), None)
    if data is None or data.hub is None:
        yield HubScore(name, score.protocol, metric, value)
        return
    part = "validation" if name.endswith("-dev") else "test" if data.name in TEST else None
    yield HubScore(name, score.protocol, metric, value, data.hub.repository, data.name, part)
