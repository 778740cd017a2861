"""Export a saved model to ONNX, and score the file on the tasks of its run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cseb.embedders import onnx_graph
from cseb.embedders.folders import saved_encoder
from cseb.errors import BadData, BadResults
from cseb.exchange.hub_scores import CHECKPOINT
from cseb.experiment.check_saved import check_onnx
from cseb.experiment.plan import versioned
from cseb.records.record import Record
from cseb.reports.formats.markdown import code, pipe
from cseb.tasks.evaluate import data_sha256, load_task, score_all
from cseb.tasks.names import parse_tasks
from cseb.tasks.task import Task
from cseb.text import points, quantity


@dataclass(frozen=True, slots=True)
class Drift:
    """Scores of one task, of the trained model and of its ONNX file; None if all embeddings are equal."""

    task: str
    trained: float | None
    onnx: float | None

    @property
    def change(self) -> float | None:
        """The score of the file minus that of the model."""
        return None if self.trained is None or self.onnx is None else self.onnx - self.trained

    def cells(self) -> tuple[str, str, str]:
        """Return both scores and the change, such as `-0.12`, as tables show them."""
        change = "--" if self.change is None else f"{round(self.change, 2) + 0.0:+.2f}"  # no -0.00
        return points(self.trained), points(self.onnx), change


def export_onnx(folder: Path, form: str, record: Record, data_dir: str) -> tuple[Drift, ...]:
    """Write the ONNX file of a saved model into its folder, and score it on the tasks of the run. Raises: CsebError."""
    place = Path(data_dir) if data_dir else None
    tasks, dev = _named(*record.protocol.tasks), _named(record.protocol.dev)
    if data_sha256((*tasks, *dev), place) != record.protocol.data:
        raise BadData(f"the data of the tasks are not those of the record {record.key}; give its `data_dir`")
    loaded = [(task, load_task(task, place)) for task in tasks]
    encoder = saved_encoder(folder)
    file = onnx_graph.write(encoder, folder, form)
    through_onnx = onnx_graph.through(encoder, file, record.protocol.threads)
    try:
        check_onnx(encoder, through_onnx, int8=form == "onnx-int8")
    except BadResults:
        file.unlink()
        raise
    outcomes = score_all(loaded, through_onnx.embed)
    before = record.points(CHECKPOINT)
    return tuple(
        Drift(versioned(task), before.get(versioned(task)), outcome.value)
        for (task, _), (outcome, _) in zip(loaded, outcomes, strict=True)
    )


def _named(*tasks: str) -> tuple[Task, ...]:
    """Return tasks by their names in a record."""
    return tuple(parse_tasks(",".join(task.partition("@")[0] for task in tasks))) if any(tasks) else ()


def section(form: str, drifts: Sequence[Drift]) -> list[str]:
    """Return the paragraphs of a model card on the file."""
    file = onnx_graph.FILES[form]
    kind = "weights and activations in 8 bits (dynamic quantisation)" if form == "onnx-int8" else "32 bits"
    rows = [f"| {pipe(drift.task)} | {' | '.join(drift.cells())} |" for drift in drifts]
    return [
        "## ONNX",
        f"{code(file)}: the backbone, {kind}. From {code('input_ids')} and {code('attention_mask')} it makes "
        f"{code('last_hidden_state')}; what follows is that of the model. Scored with onnxruntime on the "
        f"{quantity(len(drifts), 'task')} of the run:",
        "\n".join(["| task | trained model | ONNX | drift, points |", "| --- | --- | --- | --- |", *rows]),
    ]
