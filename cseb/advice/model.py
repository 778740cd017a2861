"""The model that a recommendation ends with: the chosen method on all distinct sentences, with its card."""

from __future__ import annotations

import shutil
import uuid
from dataclasses import replace
from pathlib import Path

from cseb.advice.hold_out import Parts
from cseb.advice.runs import Runs
from cseb.advice.verdict import Recommendation
from cseb.errors import BadResults, TrainingFailed
from cseb.records.store import Store

FOLDER = "model"  # in the folder of records: the one run that has seen the held-out sentences, too
CARD = """
## Why this method

{verdict}.

```
{table}
```

The verdict is about models trained without the held-out sentences; this one has seen them, too. Made by

```
{command}
```
"""


def train_and_export(
    found: Recommendation, whole: Parts, runs: Runs, decide: str, out: Path, name: str, command: str
) -> None:
    """Train what was chosen with seed 0 on all lines of `whole`, as an ordinary job, and copy the model to `out`.

    decide: the tasks that the model is scored on. name: what its card calls it by. command: what the card says made it.
    An older model of ours at `out` gives way. Raises: BadResults, TrainingFailed, KeyboardInterrupt.
    """
    store = Store(runs.store.folder / FOLDER)
    store.prepare()
    corpus = whole.write(store.folder / "all")
    alone = replace(runs, corpus=corpus, tasks=decide, store=store, models=store.folder / "models", made={}, broken={})
    grid = alone.grid([found.chosen], [0], [len(whole.train)])
    alone.run(grid)
    [job] = grid.jobs
    record = alone.made.get(job.key)
    if record is None or record.status != "done":
        why = record.failure.reason if record and record.failure else alone.broken.get(job.label, "no record was left")
        raise TrainingFailed(f"{found.chosen} could not be trained on all sentences: {why}")
    _copy(
        store.folder / "models" / job.key,
        out,
        name,
        CARD.format(verdict=found.verdict(), table=found.table(), command=command),
    )


def _copy(model: Path, out: Path, name: str, card: str) -> None:
    """The folder appears whole or not at all. Raises: BadResults."""
    part = out.with_name(f".{out.name}.{uuid.uuid4().hex}.tmp")
    try:
        shutil.copytree(model, part)
        page = part / "README.md"
        page.write_text(page.read_text("utf-8").replace(str(model), name) + card, encoding="utf-8")
        if out.is_dir():
            shutil.rmtree(out)
        part.rename(out)
    except OSError as error:
        raise BadResults(f"{out} cannot be written: {error.strerror or error}; name another --out") from error
    finally:
        shutil.rmtree(part, ignore_errors=True)
