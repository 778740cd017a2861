"""Write the scores of a record as result files of mteb and of the Hugging Face hub."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import yaml
from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml

from cseb.data.manifest import data_sets
from cseb.data.weights import HUB_NAME
from cseb.errors import BadResults, BadSpec, CsebError
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


def write_mteb(record: Record, to: Path, model_name: str = "") -> tuple[str, ...]:
    """Write the scores of mteb's tasks as mteb does: ``TO/results/MODEL/REVISION/TASK.json`` and `model_meta.json`.

    ``mteb.ResultCache(TO).load_results()`` reads them. The revision is the key of the record. Only tasks that mteb
    itself has scored are written: the same data under another protocol give other numbers. model_name: OWNER/NAME; by
    default cseb/KEY. Returns a line for each task that is left out: its name and the reason. Raises: BadSpec,
    BadResults, BadData.
    """
    name = model_name or f"cseb/{record.key}"
    if not HUB_NAME.fullmatch(name) or name.count("/") != 1 or "@" in name:
        raise BadSpec(f"{name!r} cannot name a model; OWNER/NAME is needed, such as me/my-encoder")
    results, left_out = [], []
    for score in exported_scores(record):
        try:
            results.append(_mteb_result(score, record))
        except _LeftOut as reason:
            left_out.append(f"{score.task}: {reason}")
    _refuse_empty(results, left_out, record)
    from mteb import ResultCache
    from mteb.models.model_meta import ModelMeta, ScoringFunction

    cosine, framework = ScoringFunction.COSINE, ["PyTorch"]
    details = {"name": name, "revision": record.key, "similarity_fn_name": cosine, "framework": framework}
    meta, cache = ModelMeta.create_empty(details), ResultCache(to)
    for result in results:
        cache.save_to_cache(result, meta)
    return tuple(left_out)


def write_eval_results(record: Record, to: Path, model_name: str = "") -> tuple[str, ...]:
    """Write the scores with a data set on the Hugging Face hub into ``TO/.eval_results/cseb-KEY.yaml``.

    The file belongs into a model repository of the hub, which names the model;
    `huggingface_hub.parse_eval_result_entries` reads it. Returns a line for each task that is left out: its name and
    the reason. Raises: BadResults.
    """
    entries, left_out = [], []
    for score in hub_scores(record):
        if score.dataset:
            entries.append(
                EvalResultEntry(
                    dataset_id=score.dataset,
                    task_id=score.task,
                    value=round(score.value, 5),
                    dataset_revision=score.revision,
                    date=record.origin.finished,
                    notes=f"{score.metric} x 100, protocol {score.protocol} of cseb {record.origin.cseb}",
                )
            )
        else:
            left_out.append(f"{score.task}: its data set is not on the hub")
    left_out += [f"{score.task}: the encoder has collapsed" for score in exported_scores(record) if score.value is None]
    _refuse_empty(entries, left_out, record)
    folder = to / ".eval_results"
    folder.mkdir(parents=True, exist_ok=True)
    text = yaml.safe_dump(eval_result_entries_to_yaml(entries), sort_keys=False)
    (folder / f"cseb-{record.key}.yaml").write_text(text, encoding="utf-8")
    return tuple(left_out)


FORMATS: dict[str, Callable[[Record, Path, str], tuple[str, ...]]] = {
    "mteb": write_mteb,
    "eval-results": write_eval_results,
}


class _LeftOut(Exception):
    """Why a task has no file."""


def _refuse_empty(results: list[Any], left_out: list[str], record: Record) -> None:
    if not results:
        reasons = "; ".join(left_out) or (record.failure.reason if record.failure else "it has no scores")
        raise BadResults(f"nothing of the record {record.key} can be written: {reasons}")


def _mteb_result(score: Score, record: Record) -> Any:
    """Return a score as a `TaskResult` of mteb, with subsets and splits. Raises: _LeftOut."""
    name = score.task.partition("@")[0]
    if not name.startswith(MTEB_PREFIX):
        raise _LeftOut(f"its protocol {score.protocol} is not that of mteb; score mteb:NAME instead")
    if score.value is None:
        raise _LeftOut("the encoder has collapsed")
    task = library_task(name)
    from mteb import TaskResult, __version__

    version = record.origin.versions.get("mteb", "unknown")
    if version != __version__:
        raise _LeftOut(f"scored with mteb {version}, and {__version__} is installed; pip install mteb=={version}")
    scores: dict[str, dict[str, dict[str, float]]] = {}
    for key, figure in score.detail.items():
        metric, split, subset = key.split("/", 2)
        value = (figure or 0.0) / 100
        scores.setdefault(split, {})[subset] = {metric: value, "main_score": value}
    result = TaskResult.from_task_results(
        task, scores, evaluation_time=0.0, date=datetime.fromisoformat(record.origin.finished)
    )
    # The record has the time of all tasks together, and no energy.
    return result.model_copy(update={"evaluation_time": None})
