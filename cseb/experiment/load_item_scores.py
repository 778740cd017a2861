"""Scores per example of a results folder, with the data of its tasks."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from cseb.analysis.item_scores import Data, ItemScores
from cseb.experiment import benchmark as benchmarks
from cseb.experiment.benchmark import Benchmark
from cseb.records.record import Record
from cseb.records.store import Store
from cseb.tasks.evaluate import load_task


def load_item_scores(store: Store, records: Iterable[Record]) -> ItemScores:
    """Return the scores per example of records, with the data of their tasks."""
    folder = data_folder(store.folder, *sorted({record.benchmark for record in records}))

    def load(name: str) -> Data:
        return load_task(name, Path(folder) if folder else None)

    return ItemScores(store.read_items, load)


def data_folder(results: Path, *benchmarks: str) -> str:
    """Return the folder of task files: CSEB_DATA_DIR, or where these runs had them; "" for the caches."""
    stored = (stored_benchmark(results, name) for name in benchmarks)
    had = (benchmark.data_dir for benchmark in stored if benchmark and benchmark.data_dir)
    return os.environ.get("CSEB_DATA_DIR") or next(had, "")


def stored_benchmark(folder: Path, name: str) -> Benchmark | None:
    """Return the benchmark that `cseb run` stored beside its records; None if it is missing. Raises: BadBenchmark."""
    path = folder / f"benchmark-{name}.yaml"
    return benchmarks.load(str(path)) if path.is_file() else None
