"""The model card of a run: a README in the Hugging Face hub's format, from its record, items and task data."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from math import inf
from pathlib import Path
from statistics import fmean

import numpy as np
from huggingface_hub import EvalResult, ModelCardData

from cseb.analysis.item_scores import ItemScores
from cseb.data.shipped import ENCODERS
from cseb.data.weights import HUB_NAME
from cseb.errors import CsebError
from cseb.exchange.hub_scores import CHECKPOINT, hub_scores
from cseb.experiment import benchmark as benchmarks
from cseb.experiment.plan import scaled
from cseb.methods.grammar import parse_method
from cseb.records.record import Record
from cseb.reports.formats.markdown import code, pipe
from cseb.statistics.intervals import around, t_interval
from cseb.statistics.items import variance
from cseb.text import duration, percent, quantity

LICENCE = re.compile(r"\A---\n(?:(?!---).*\n)*?license: *([\w.-]+) *\n", re.ASCII)  # in a card's YAML
LONGEST = 1 << 16  # characters of a card that are looked at
SCRIPT = """```python
from sentence_transformers import SentenceTransformer

model = SentenceTransformer({name})
vectors = model.encode(["a sentence", "another one"])
```"""


def model_card(
    record: Record,
    scores: ItemScores,
    *,
    name: str = "FOLDER",
    licence: str = "",
    loads: bool = False,
    others: Sequence[Record] = (),
    processor: str = "",
    further: Sequence[str] = (),
) -> str:
    """YAML that the hub reads, and what a person has to know before using the encoder that this run has trained.

    scores: items of the record and the data of its tasks, for intervals; where they are missing the card says why.
    name: folder or hub name, as users load it. licence: as the hub names them, "" for unknown. loads: whether
    SentenceTransformer reads the folder. others: records of the same folder, for runs that differ in the seed alone.
    processor: what the run was computed on, where that is known better than the record says. further: paragraphs
    behind the scores.
    """
    known = base_model(record)
    data = ModelCardData(
        model_name=name.rpartition("/")[2],
        base_model=known or None,
        license=licence or None,
        library_name="sentence-transformers" if loads else "transformers",
        pipeline_tag="sentence-similarity",
        tags=["sentence-transformers", "sentence-similarity", "feature-extraction", "cseb"][0 if loads else 1 :],
        eval_results=[
            EvalResult(
                task_type="sentence-similarity",
                dataset_type=score.dataset or score.task,
                dataset_name=score.task if score.dataset else f"{score.task}, not on the hub",
                dataset_config=score.config,
                dataset_split=score.split,
                dataset_revision=score.revision,
                metric_type=score.metric,
                metric_name=f"points, protocol {score.protocol}",
                metric_value=round(score.value, 2),
            )
            for score in hub_scores(record)
        ]
        or None,
    )
    blocks = [
        f"---\n{data.to_yaml()}\n---",
        f"# {pipe(record.method)}, {quantity(record.subset.size, 'sentence')}",
        f"A sentence encoder: {code(record.encoder.name)} trained by the method {code(record.method)} on "
        f"{quantity(record.subset.size, 'sentence')} of {code(record.corpus.name)}, with "
        f"cseb {record.origin.cseb}.",
        SCRIPT.format(name=repr(name))
        if loads
        else f"sentence-transformers does not know its pooling; {code(f'cseb eval {name} --tasks ...')} scores it.",
        "## Scores",
        *_scores(record, scores, others),
        *further,
        "## What it has seen",
        "\n".join(f"- {line}" for line in _seen(record, licence)),
        "## Training",
        "\n".join(f"- {line}" for line in _training(record)),
        "## Make it again",
        _again(record),
        "\n".join(f"- {line}" for line in _signature(record, processor)),
    ]
    return "\n\n".join(blocks) + "\n"


def base_model(record: Record) -> str:
    """The hub name of the encoder that training began with, "" where it is a folder or comes with cseb."""
    name = record.encoder.name
    if name in ENCODERS or name.startswith(".") or not HUB_NAME.fullmatch(name) or Path(name).is_dir():
        return ""
    return name.partition("@")[0]


def licence_of(folder: Path) -> str:
    """What the card in an encoder's folder says, such as apache-2.0; "" where there is none."""
    try:
        with (folder / "README.md").open(encoding="utf-8", errors="replace") as file:
            found = LICENCE.match(file.read(LONGEST))
    except OSError:
        return ""
    return found[1] if found else ""


def command(record: Record) -> str:
    """The command that trains this very encoder again, "" where the record alone does not tell it.

    It does not where the benchmark was a file of the user's or has changed since, or an option has edited it.
    """
    name, _, stage = record.benchmark.partition("-on-")
    try:
        loaded = benchmarks.load(name)
        if stage:
            loaded = benchmarks.moved(loaded, benchmarks.load(stage))
        method = parse_method(record.method)
        steps = [None] if record.trace is None else [None, record.trace.steps]
        for count in steps:
            asked = benchmarks.override(loaded, steps=count)
            if scaled(asked, method, record.subset.fraction).resolved() == record.resolved:
                return shlex.join([*_words(record, name, stage), *([] if count is None else ["--steps", str(count)])])
    except CsebError:
        pass
    return ""


def _words(record: Record, name: str, stage: str) -> list[str]:
    protocol = record.protocol
    return [
        *("cseb", "run", name, *(["--on", stage] if stage else [])),
        *("--methods", record.method, "--encoder", record.encoder.name, "--corpus", record.corpus.name),
        *("--sizes", str(record.subset.size), "--seeds", str(record.seed + 1)),
        *("--tasks", ",".join(task.partition("@")[0] for task in protocol.tasks)),
        *("--dev", protocol.dev.partition("@")[0] or "none"),
        *("--threads", str(protocol.threads), "--device", protocol.device),
        *(["--processes", str(protocol.processes)] if protocol.processes > 1 else []),
        *(["--seed-scope", record.vary] if record.vary != "all" else []),
        "--save-models",
    ]


def _scores(record: Record, scores: ItemScores, others: Sequence[Record]) -> Iterator[str]:
    held = {one.task: one for one in record.scores if one.select == CHECKPOINT}
    if not held:
        yield "None: " + (pipe(record.failure.reason) if record.failure else "no task was scored") + "."
        return
    main = next(iter(held.values())).protocol
    alike = [task for task, one in held.items() if one.protocol == main]
    runs = [record.points(CHECKPOINT), *(one.points(CHECKPOINT) for one in others if _same_but_seed(one, record))]
    several = len(runs) > 1
    columns = ["task", "protocol", "points", "95 % interval over items", "items"]
    columns += [f"mean of {quantity(len(runs), 'seed')} (95 % interval)"] if several else []
    lines = [f"| {' | '.join(columns)} |", f"|{' --- |' * len(columns)}"]
    doubts: dict[str, None] = {}
    rows = [(task, [task]) for task in held] + ([("average", alike)] if len(alike) > 1 else [])
    for shown, tasks in rows:
        one = held[tasks[0]]
        values = [held[task].value for task in tasks]
        points = None if any(value is None for value in values) else fmean(value or 0.0 for value in values)
        interval = "--"
        if points is not None:
            found, doubt = scores.contributions({record.seed: record}, tasks, CHECKPOINT)
            doubts |= dict.fromkeys([doubt] if doubt else [])
            if found:
                reach = around(points, variance(found[record.seed]), inf)
                interval = f"{reach.low:.2f} to {reach.high:.2f}"
        items = f"{sum(held[task].items for task in tasks):,}"
        cells = [pipe(shown), code(one.protocol), "collapsed" if points is None else f"{points:.2f}", interval, items]
        lines.append(f"| {' | '.join([*cells, *([_over_seeds(runs, tasks)] if several else [])])} |")
    yield "\n".join(lines)
    chosen = record.protocol.dev
    yield (
        f"Points of the checkpoint in this folder, {f'the best on {pipe(chosen)}' if chosen else 'the last one'}. The "
        "interval over items is what other test items of the same kind may give this very encoder; another seed is "
        "another encoder."
    ) + "".join(f" No interval: {pipe(doubt)}." for doubt in doubts)


def _same_but_seed(one: Record, record: Record) -> bool:
    def kind(record: Record) -> tuple[object, ...]:
        return (
            *(record.method, record.resolved, record.encoder.sha256, record.corpus.sha256),
            *(record.subset.size, record.protocol, record.vary),
        )

    return one.seed != record.seed and one.status == "done" and kind(one) == kind(record)


def _over_seeds(runs: Sequence[dict[str, float | None]], tasks: Sequence[str]) -> str:
    """The mean of these tasks over runs, with the interval of Student's t."""
    values = [[run.get(task) for task in tasks] for run in runs]
    if any(value is None for row in values for value in row):
        return "--"
    means = np.array([fmean(value or 0.0 for value in row) for row in values])
    interval = t_interval(means)
    return f"{means.mean():.2f} ({interval.low:.2f} to {interval.high:.2f})"


def _seen(record: Record, licence: str) -> Iterator[str]:
    subset = record.subset
    yield (
        f"encoder {code(record.encoder.name)}, sha256 {code(record.encoder.sha256)}; licence: "
        f"{pipe(licence) or 'unknown, ask its publisher'}"
    )
    yield f"corpus {code(record.corpus.name)}, sha256 {code(record.corpus.sha256)}; see its publisher for its licence"
    yield (
        f"{quantity(subset.size, 'sentence')} of it ({percent(subset.fraction)}), drawn by seed {record.seed}, sha256 "
        f"{code(subset.sha256)}"
    )
    yield f"data the method uses: {pipe(', '.join(record.data_seen)) or 'none, nothing is trained'}"
    if record.generated is not None:
        yield f"its sentences were written by {pipe(str(record.generated))}"
    for one in record.outside:
        yield f"read too: {code(one.name)}, sha256 {code(one.sha256)}"
    for other in record.foreign:
        yield f"plug-in {code(other.name)} of {pipe(other.package)} {pipe(other.version)}, code {code(other.code)}"
    if record.protocol.dev:
        used = quantity(record.protocol.dev_pairs, "labelled item")
        yield f"labels: {used} of {pipe(record.protocol.dev)} chose the checkpoint, none trained it"
    for each in record.overlap or ():
        yield f"texts of tasks among its sentences: {pipe(str(each))}"
    if record.overlap == ():
        yield "no text of these tasks is among its sentences, nor nearly so"


def _training(record: Record) -> Iterator[str]:
    yield f"method in full: {code(record.resolved)}"
    if record.trace is not None:
        yield f"{quantity(record.trace.steps, 'step')}, this checkpoint at step {record.trace.best_step}"
    cost = record.cost
    yield (
        f"cost: {duration(cost.train_seconds)} of training, {duration(cost.score_seconds)} of scoring, "
        f"{cost.peak_rss_mb:,.0f} MB of memory, on {quantity(record.protocol.threads, 'thread')}"
    )


def _again(record: Record) -> str:
    if found := command(record):
        seeds = f"; {quantity(record.seed, 'other seed')} before it trained too" if record.seed else ""
        return f"```console\n$ {found}\n```\n\nWith the same files and versions the bits are the same{seeds}."
    return f"With the record at hand, {code(f'cseb show {record.key} --rerun')} trains it again and compares the bits."


def _signature(record: Record, processor: str) -> Iterator[str]:
    origin = record.origin
    yield f"record {code(record.key)}, task data sha256 {code(record.protocol.data)}"
    yield f"cseb {pipe(origin.cseb)}" + (f", commit {code(origin.commit)}" if origin.commit else "")
    yield pipe(", ".join(f"{name} {version}" for name, version in origin.versions.items()))
    linear = f", linear layers by {origin.linear}" if origin.linear else ""
    yield pipe(f"{origin.machine}, {processor or origin.device}, {record.protocol.device}, {origin.dtype}{linear}")
    yield pipe(f"{origin.started} to {origin.finished}")
