"""Records as `cseb run` writes them, with made-up numbers."""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import numpy as np

from cseb.records.method_text import read_method
from cseb.records.record import Cost, Failure, Origin, Protocol, Record, Score, Source, Subset, Trace
from cseb.records.store import Store

TASKS = ("sts12@1", "sts13@1", "sickr@1")
CORPUS = 100_000  # sentences


def source(name: str) -> Source:
    return Source(name=name, sha256=hashlib.sha256(name.encode()).hexdigest())


def record(
    method: str = "simcse",
    size: int = 100,
    seed: int = 0,
    *,
    values: Sequence[float | None] = (50.0, 60.0, 70.0),
    last: Sequence[float | None] | None = None,
    tasks: tuple[str, ...] = TASKS,
    measures: Mapping[str, str] | None = None,
    failed: str = "",
    encoder: str = "bert",
    corpus: str = "wiki",
    resolved: str = "dropout()@1 cls()@1 recipe(steps=60, dropout='model')@1",
    data_seen: tuple[str, ...] = ("subset",),
    dev: str = "stsb-dev",
    device: str = "cpu",
    benchmark: str = "world",
    torch: str = "2.7.0",
) -> Record:
    """One job; `values` are the points per task of the best checkpoint, `last` of the last one (default: same)."""
    name = f"{method} {size} {seed} {encoder} {corpus} {resolved} {device} {tasks} {dev}"
    chosen = {"best": values, "last": values if last is None else last}
    return Record(
        key=hashlib.sha256(name.encode()).hexdigest()[:16],
        status="failed" if failed else "done",
        benchmark=benchmark,
        method=method,
        resolved=resolved,
        parts=read_method(resolved),
        data_seen=data_seen,
        encoder=source(encoder),
        corpus=source(corpus),
        subset=Subset(size=size, fraction=size / CORPUS, sha256="5" * 64),
        seed=seed,
        protocol=Protocol(tasks=tasks, data="d" * 64, dev=dev, dev_pairs=1500 if dev else 0, threads=1, device=device),
        scores=()
        if failed
        else tuple(
            Score(
                task=task,
                protocol=(measures or {}).get(task, "simcse-sts@1"),
                select=select,
                value=value,
                detail={"spearman.mean": value, "pearson.all": value},
                items=500,
            )
            for select in ("best", "last")
            if select == "last" or dev
            for task, value in zip(tasks, chosen[select], strict=False)
        ),
        trace=None if failed else Trace(steps=60, best_step=40, curve=((20, 1.5, 60.0), (40, 1.25, 62.0))),
        failure=Failure(step=12, reason=failed) if failed else None,
        cost=Cost(train_seconds=4.5, score_seconds=1.25, peak_rss_mb=512.0),
        origin=Origin(
            cseb="0.1.0",
            commit="0" * 40,
            versions={"python": "3.11.7", "torch": torch},
            machine="x86_64, 2 cores",
            device=device,
            dtype="float32",
            started="2026-01-01T00:00:00Z",
            finished="2026-01-01T00:00:06Z",
        ),
    )


def seeds(count: int = 3, **options: object) -> list[Record]:
    """Records of one cell."""
    return [record(seed=seed, **options) for seed in range(count)]


def grid() -> list[Record]:
    """Two methods, two sizes and three seeds, with one failed, one collapsed and one absent job."""
    records = []
    for row, method in enumerate(("simcse", "first_last+recipe(steps=0)", "micse+paraphrase(file='50%_&_#1.txt')")):
        seen = ("external", "subset") if "paraphrase" in method else () if "steps=0" in method else ("subset",)
        for column, size in enumerate((100, 1000)):
            for seed in (0, 1, 2):
                points = [50.0 + 10 * task + row + 2 * column + 0.3 * seed * (task + 1) for task in range(3)]
                failed = "the loss is not finite" if (row, column, seed) == (0, 0, 1) else ""
                values = [None, None, None] if (row, column, seed) == (2, 0, 2) else points
                if (row, column, seed) != (2, 1, 2):
                    records.append(
                        record(method, size, seed, values=values, last=points, failed=failed, data_seen=seen)
                    )
    return records


def stored(folder: Path, *records: Record, items: Mapping[str, np.ndarray] = MappingProxyType({})) -> Store:
    """A folder with these records, each with these items."""
    store = Store(folder)
    store.prepare()
    for run in records:
        store.write(run, dict(items))
    return store
