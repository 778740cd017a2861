"""Load the per-item scores of a results folder, and the task data that its benchmarks name."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from cseb.analysis.item_scores import Data, ItemScores
from cseb.experiment import benchmark as benchmarks
from cseb.experiment.benchmark import Benchmark
from cseb.records.record import Record
from cseb.records.store import Store
from cseb.tasks.evaluate import load_task


def load_item_scores(store: Store, records: Iterable[Record], data_dir: str) -> ItemScores:
    """The items of a folder's records, and the data they were scored on, from `data_dir` or where the run had them."""
    folder = data_dir
    for name in sorted({record.benchmark for record in records}):
        if not folder and (loaded := as_it_was_run(store.folder, name)) is not None:
            folder = loaded.data_dir

    def load(name: str) -> Data:
        return load_task(name, Path(folder) if folder else None)

    return ItemScores(store.read_items, load)


def as_it_was_run(folder: Path, name: str) -> Benchmark | None:
    """The benchmark as it was run, beside its records; None where it is gone. Raises: BadBenchmark."""
    path = folder / f"benchmark-{name}.yaml"
    return benchmarks.load(str(path)) if path.is_file() else None
