"""Model cards in the format of the Hugging Face hub."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from statistics import fmean

import numpy as np
from huggingface_hub import EvalResult, ModelCardData

from cseb.analysis.item_scores import ItemScores
from cseb.data.shipped import ENCODERS
from cseb.data.weights import HUB_NAME
from cseb.records.record import Record, Select
from cseb.reports.formats.markdown import code, pipe
from cseb.statistics.items import around, freedom, t_interval, variance
from cseb.text import duration, percent, quantity

LICENCE = re.compile(r"\A---\n(?:(?!---).*\n)*?license: *([\w.-]+) *\n", re.ASCII)  # in a card's YAML
LONGEST = 1 << 16  # characters of a card that are read
SCRIPT = """```python
from sentence_transformers import SentenceTransformer

model = SentenceTransformer({name}{options})
vectors = model.encode(["a sentence", "another one"])
```"""


def model_card(
    record: Record,
    scores: ItemScores,
    *,
    name: str,
    licence: str,
    loads: bool | None,
    others: Sequence[Record] = (),
    processor: str = "",
) -> str:
    """Return the card: YAML that the hub reads, and what a user needs to know about the encoder.

    scores: for confidence intervals. name: folder or hub name of the model. licence: as the hub names it; "" if
    unknown. loads: whether SentenceTransformer loads the folder; None if the model was not saved. others: records of
    runs with other seeds. processor: if it is known better than from the record.
    """
    data = ModelCardData(
        model_name=name.rpartition("/")[2],
        base_model=base_model(record) or None,
        license=licence or None,
        library_name="sentence-transformers" if loads else "transformers",
        pipeline_tag="sentence-similarity",
        tags=["sentence-transformers", "sentence-similarity", "feature-extraction", "cseb"][0 if loads else 1 :],
        eval_results=[
            EvalResult(
                task_type="sentence-similarity",
                dataset_type=score.task.partition("@")[0],
                dataset_name=score.task,
                metric_type=score.protocol,
                metric_name=f"points, protocol {score.protocol}",
                metric_value=round(score.value, 2),
            )
            for score in record.scores
            if score.select == _exported(record) and score.value is not None
        ]
        or None,
    )
    title, made = pipe(record.method), f"with the method {code(record.method)}, scored without further training"
    if _trains(record):
        size = quantity(record.subset.size, "sentence")
        verb = "trained" if record.trace is None or record.trace.steps else "fitted"  # such as whitening
        title += f", {size}"
        made = f"{verb} with the method {code(record.method)} on {size} of {code(record.corpus.name)}"
    unsaved = f"The model of this run was not saved. {code('cseb run --save-models')} with the options below saves it."
    if not record.subset.size:
        unsaved = f"{code('cseb eval')} scored the encoder as it is and saved no model."
    script = SCRIPT.format(name=repr(name), options="" if loads else ", trust_remote_code=True")
    blocks = [
        f"---\n{data.to_yaml()}\n---",
        f"# {title}",
        f"A sentence encoder: {code(record.encoder.name)} {made}, by cseb {record.origin.cseb}.",
        unsaved if loads is None else script,
        *(["Its pooling is that of cseb, which must be installed."] if loads is False else []),
        "## Scores",
        *_scores(record, scores, others),
        "## Training data",
        _bullets(_training_data(record, licence)),
        "## Training",
        _bullets(_training(record)),
        "## Reproduce it",
        f"{code(f'cseb show {record.key} --results FOLDER')} lists all inputs, options and versions. FOLDER is "
        "the folder of records.",
        _bullets(_environment(record, processor)),
    ]
    return "\n\n".join(blocks) + "\n"


def base_model(record: Record) -> str:
    """Return the hub name of the encoder that training started from; "" for a folder or one that comes with cseb."""
    name = record.encoder.name
    if name in ENCODERS or name.startswith(".") or not HUB_NAME.fullmatch(name) or Path(name).is_dir():
        return ""
    return name.partition("@")[0]


def licence_of(folder: Path) -> str:
    """Return the licence in the card of an encoder's folder, such as apache-2.0; "" if there is none."""
    try:
        with (folder / "README.md").open(encoding="utf-8", errors="replace") as file:
            match = LICENCE.match(file.read(LONGEST))
    except OSError:
        return ""
    return match[1] if match else ""


def _trains(record: Record) -> bool:
    """Return whether the run used training sentences. `cseb eval` uses none, also where the encoder was trained."""
    return bool(record.data_seen and record.subset.size)


def _selects(record: Record) -> bool:
    """Return whether a dev set selected the checkpoint. A method that is fitted without steps, whitening, has one."""
    return bool(record.protocol.dev) and (record.trace is None or record.trace.steps > 0)


def _exported(record: Record) -> Select:
    """Return the checkpoint that is exported. Records of `cseb eval` have the last one only."""
    return "best" if record.points("best") else "last"


def _bullets(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _scores(record: Record, scores: ItemScores, others: Sequence[Record]) -> Iterator[str]:
    select = _exported(record)
    by_task = {score.task: score for score in record.scores if score.select == select}
    if not by_task:
        yield f"None: {pipe(record.failure.reason) if record.failure else 'no task was scored'}."
        return
    runs = [record.points(select), *(run.points(select) for run in others if _same_but_seed(run, record))]
    columns = ["task", "protocol", "points", "95 % interval over examples", "examples"]
    columns += [f"mean of {quantity(len(runs), 'seed')} (95 % interval)"] if len(runs) > 1 else []
    lines = [f"| {' | '.join(columns)} |", f"|{' --- |' * len(columns)}"]
    doubts: dict[str, None] = {}
    main = next(iter(by_task.values())).protocol
    averaged = [task for task, score in by_task.items() if score.protocol == main]
    rows = [(task, [task]) for task in by_task] + ([("average", averaged)] if len(averaged) > 1 else [])
    for row, tasks in rows:
        values = [value for task in tasks if (value := by_task[task].value) is not None]
        points, interval = "collapsed", "--"
        if len(values) == len(tasks):
            points = f"{fmean(values):.2f}"
            contributions, doubt = scores.contributions({record.seed: record}, tasks, select)
            doubts |= dict.fromkeys([doubt] if doubt else [])
            if contributions:
                items = contributions[record.seed]
                bounds = around(fmean(values), variance(items), freedom(items))
                interval = f"{bounds.low:.2f} to {bounds.high:.2f}"
        examples = f"{sum(by_task[task].items for task in tasks):,}"
        cells = [pipe(row), code(by_task[tasks[0]].protocol), points, interval, examples]
        cells += [_over_seeds(runs, tasks)] if len(runs) > 1 else []
        lines.append(f"| {' | '.join(cells)} |")
    yield "\n".join(lines)
    notes = ["The interval is for other test examples of the same kind."]
    if _trains(record):
        best = f"the best one on {pipe(record.protocol.dev)}" if _selects(record) else "the last one"
        notes = [f"Scores of the checkpoint in this folder, {best}.", *notes, "Another seed gives another encoder."]
    yield " ".join([*notes, *(f"No interval: {pipe(doubt)}." for doubt in doubts)])


def _same_but_seed(run: Record, record: Record) -> bool:
    kinds = [
        (
            *(each.method, each.resolved, each.encoder.sha256, each.corpus.sha256, each.subset.size, each.protocol),
            each.purpose,
        )
        for each in (run, record)
    ]
    return run.seed != record.seed and run.status == "done" and kinds[0] == kinds[1]


def _over_seeds(runs: Sequence[dict[str, float | None]], tasks: Sequence[str]) -> str:
    """Return the mean of these tasks over runs, with the interval of Student's t."""
    values = [[run.get(task) for task in tasks] for run in runs]
    if any(value is None for run in values for value in run):
        return "--"
    means = np.array(values, dtype=float).mean(axis=1)
    interval = t_interval(means)
    return f"{means.mean():.2f} ({interval.low:.2f} to {interval.high:.2f})"


def _training_data(record: Record, licence: str) -> Iterator[str]:
    yield (
        f"encoder {code(record.encoder.name)}, sha256 {code(record.encoder.sha256)}; licence: "
        f"{pipe(licence) or 'unknown, ask its publisher'}"
    )
    if _trains(record):
        yield from _sentences(record)
    else:
        yield "no training sentences: this run trained nothing"
    for source in record.outside:
        yield f"also used: {code(source.name)}, sha256 {code(source.sha256)}"
    for plugin in record.foreign:
        yield f"plug-in {code(plugin.name)} of {pipe(plugin.package)} {pipe(plugin.version)}, code {code(plugin.code)}"
    if record.tuning is not None:
        yield f"tuned on {pipe(record.tuning.dev)} in {len(record.tuning.trials)} trials: {code(record.tuning.options)}"
    for overlap in record.overlap or ():
        yield f"texts of tasks among the training sentences: {pipe(str(overlap))}"
    if record.overlap == ():
        yield "no text of these tasks is among the training sentences, nor a near-duplicate"


def _sentences(record: Record) -> Iterator[str]:
    """Yield the origin of the training sentences, and the labels that were used with them."""
    subset = record.subset
    yield f"corpus {code(record.corpus.name)}, sha256 {code(record.corpus.sha256)}; see its publisher for its licence"
    yield (
        f"{quantity(subset.size, 'sentence')} of it ({percent(subset.fraction)}), drawn with seed {record.seed}, "
        f"sha256 {code(subset.sha256)}"
    )
    yield f"data that the method uses: {pipe(', '.join(record.data_seen))}"
    if record.generated is not None:
        yield f"the sentences were written by {pipe(str(record.generated))}"
    if _selects(record):
        examples = quantity(record.protocol.dev_pairs, "labelled example")
        yield f"labels: {examples} of {pipe(record.protocol.dev)} selected the checkpoint; none was trained on"


def _training(record: Record) -> Iterator[str]:
    yield f"method in full: {code(record.resolved)}"
    if record.trace is not None:
        yield f"{quantity(record.trace.steps, 'step')}, this checkpoint at step {record.trace.best_step}"
    cost = record.cost
    yield (
        f"cost: {duration(cost.train_seconds)} of training, {duration(cost.score_seconds)} of scoring, "
        f"{cost.peak_rss_mb:,.0f} MB of memory, on {quantity(record.protocol.threads, 'thread')}"
    )


def _environment(record: Record, processor: str) -> Iterator[str]:
    origin = record.origin
    yield f"record {code(record.key)}, task data sha256 {code(record.protocol.data)}"
    yield f"cseb {pipe(origin.cseb)}" + (f", commit {code(origin.commit)}" if origin.commit else "")
    yield pipe(", ".join(f"{name} {version}" for name, version in origin.versions.items()))
    linear = f", linear layers by {origin.linear}" if origin.linear else ""
    yield pipe(f"{origin.machine}, {processor or origin.device}, {record.protocol.device}, {origin.dtype}{linear}")
    yield pipe(f"{origin.started} to {origin.finished}")
