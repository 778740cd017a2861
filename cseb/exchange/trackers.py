"""Send finished records to an experiment tracker, through Accelerate's trackers.

A tracker reads records, not the training itself: a grid is tracked job by job while it runs, or afterwards.
"""

from __future__ import annotations

import contextlib
import io
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from cseb.errors import BadResults, BadSpec, first_line
from cseb.records.record import Record
from cseb.text import plain

Values = dict[str, float]


def check(name: str) -> None:
    """Check that the package of a tracker is installed. Raises: BadSpec."""
    if find_spec(name) is None:
        raise BadSpec(f"the tracker {name} is not installed; pip install 'cseb[{name}]'")


def track(record: Record, name: str, folder: Path) -> None:
    """Send a record to a tracker as one run: settings, loss, dev and tracked scores by step, test scores and cost.

    name: trackio, wandb, mlflow or tensorboard; the environment variables of its package say where the runs go. folder:
    of TensorBoard's event files; the others do not use it. Raises: BadResults.
    """
    from accelerate import PartialState

    initialised = bool(PartialState._shared_state)
    try:
        with contextlib.redirect_stdout(io.StringIO()):  # standard output has results only
            PartialState(cpu=True)  # Accelerate's messages need it; training makes its own
            tracker = _tracker(name, record, folder)
            tracker.start()
            tracker.store_init_configuration(settings(record))
            for step, values in series(record):
                tracker.log(values, step=step)
            tracker.finish()
    except Exception as error:  # each package has errors of its own
        raise BadResults(f"{record.key} is not tracked: {name} fails: {first_line(error)}") from error
    finally:
        if not initialised:
            PartialState._reset_state()


def settings(record: Record) -> dict[str, str | int | float | bool]:
    """Return what defines the run, by name; options of parts are such as ``recipe.learning_rate``."""
    values: dict[str, Any] = {
        "key": record.key,
        "benchmark": record.benchmark,
        "method": record.method,
        "encoder": record.encoder.name,
        "corpus": record.corpus.name,
        "size": record.subset.size,
        "fraction": record.subset.fraction,
        "seed": record.seed,
        "dev": record.protocol.dev,
        "device": record.protocol.device,
        "precision": record.origin.dtype,
        "cseb": record.origin.cseb,
        "status": record.status,
        "purpose": record.purpose,
    }
    if record.failure is not None:
        values["failure"] = record.failure.reason
    values |= {
        f"{stated.part.name}.{option}": value for stated in record.parts for option, value in stated.options.items()
    }
    return {
        name: value if isinstance(value, bool | int | float) else plain(str(value)) for name, value in values.items()
    }


def series(record: Record) -> list[tuple[int, Values]]:
    """Return the numbers of a record by training step, in order; test scores and cost are those of the last step."""
    steps: dict[int, Values] = {}
    last = 0
    if record.trace is not None:
        last = record.trace.steps
        for step, loss, dev in record.trace.curve:
            steps.setdefault(step, {}).update(_without_none({"train/loss": loss, f"dev/{record.protocol.dev}": dev}))
        for step, scores in record.trace.along:
            tracked = {f"track/{task}": value for task, value in scores.items()}
            steps.setdefault(step, {}).update(_without_none(tracked))
    final: dict[str, float | None] = {f"{score.select}/{score.task}": score.value for score in record.scores}
    final |= {
        "cost/train_seconds": record.cost.train_seconds,
        "cost/score_seconds": record.cost.score_seconds,
        "cost/peak_rss_mb": record.cost.peak_rss_mb,
    }
    steps.setdefault(last, {}).update(_without_none(final))
    return sorted(steps.items())


def _without_none(values: dict[str, float | None]) -> Values:
    """Return the values that are numbers, under names that every tracker allows."""
    return {
        re.sub(r"[^\w ./-]", "_", re.sub(r"@\d+$", "", name)): value
        for name, value in values.items()
        if value is not None
    }


def _tracker(name: str, record: Record, folder: Path) -> Any:
    """Return the tracker of Accelerate, not started. Its project is the benchmark."""
    from accelerate import tracking

    label = f"n={record.subset.size} seed={record.seed} {record.method}"  # lists of runs cut long names off
    match name:
        case "tensorboard":
            return tracking.TensorBoardTracker(f"{re.sub(r'[^A-Za-z0-9_.-]+', '_', label)}-{record.key}", folder)
        case "mlflow":
            tags = {"cseb.key": record.key}
            return tracking.MLflowTracker(experiment_name=record.benchmark, run_name=label, tags=tags)
        case "wandb":
            return tracking.WandBTracker(record.benchmark, name=label, reinit="finish_previous")
        case _:
            return tracking.TrackioTracker(record.benchmark, name=f"{label} ({record.key})")
