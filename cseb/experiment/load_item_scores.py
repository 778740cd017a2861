"""Scores per example of a results folder, with the data of its tasks."""

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
    """Return the scores per example of records; task data are in `data_dir`, or where the run had them."""
    if not data_dir:
        stored = [stored_benchmark(store.folder, name) for name in sorted({record.benchmark for record in records})]
        data_dir = next((benchmark.data_dir for benchmark in stored if benchmark and benchmark.data_dir), "")

    def load(name: str) -> Data:
        return load_task(name, Path(data_dir) if data_dir else None)

    return ItemScores(store.read_items, load)


def stored_benchmark(folder: Path, name: str) -> Benchmark | None:
    """Return the benchmark that `cseb run` stored beside its records; None if it is missing. Raises: BadBenchmark."""
    path = folder / f"benchmark-{name}.yaml"
    return benchmarks.load(str(path)) if path.is_file() else None
