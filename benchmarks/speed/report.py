"""Time and memory of `cseb report` and `cseb compare` over many records.

    python benchmarks/speed/report.py [RECORDS ...]

The records are as large as those of a real grid: seven STS tasks, two checkpoints, every sub-dataset in the details.
Each command runs in a process of its own; memory is the peak of its resident set. Up to 10,000 records are compared
with their items too: those are of the embedded tasks, whose data everybody has.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from itertools import islice, product
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from cseb.experiment.plan import protocol_of  # noqa: E402
from cseb.processor import processor  # noqa: E402
from cseb.records.method_text import read_method  # noqa: E402
from cseb.records.record import SCHEMA, Cost, Origin, Protocol, Record, Score, Source, Subset, Trace  # noqa: E402
from cseb.tasks.evaluate import load_task  # noqa: E402

TASKS = tuple(f"{name}@1" for name in ("sts12", "sts13", "sts14", "sts15", "sts16", "stsb", "sickr"))
SIZES, SEEDS = (1_000, 5_000, 10_000, 100_000, 1_000_000), 5
DETAIL = tuple(
    f"{kind}.{how}"
    for kind in ("spearman", "pearson")
    for how in ("all", "mean", "wmean", *(f"all/part{n}" for n in range(4)))
)
RESOLVED = (
    "dropout()@1 cls()@1 mlp(keep=False)@2 queue(size=384, momentum=0.995, dropout=0.3, mask_self='auto')@2 "
    "infonce(weight=1.0, temperature={temperature}, negatives='batch', form='released', hard_weight=1.0)@1 "
    "recipe(steps=20000, batch_size=50, learning_rate=3e-05, warmup=250, schedule='linear', pieces=(), "
    "optimizer='adamw_hf', weight_decay=0.0, clip=1.0, max_length=32, eval_every=125, precision='fp32', "
    "padding='longest', last_batch='keep', dropout='model')@1"
)
PROTOCOL = Protocol(tasks=TASKS, data="d" * 64, dev="stsb-dev@1", dev_pairs=1500, threads=1, device="cpu")
ITEMS = 10_000  # records that are given items
STORE = "import sys, pathlib, cseb.records.store as s; s.Store(pathlib.Path(sys.argv[1]))"
COMMANDS = {
    "few-shot": ["--table", "few-shot"],
    "few-shot, both, latex": ["--checkpoint", "both", "--format", "latex"],
    "tasks": ["--table", "tasks", "--sizes", "1000"],
    "ablation": ["--table", "ablation:micse+infonce(temperature=1)", "--format", "csv"],
    "sensitivity": ["--table", "sensitivity", "--format", "json"],
    "compare": ["--baseline", "micse+infonce(temperature=1)"],
}


def record(place: int, temperature: int, size: int, seed: int, protocol: Protocol = PROTOCOL) -> Record:
    """One job with made-up numbers."""
    names = protocol.tasks
    points = [60 + task + (temperature * 7 + seed * 13 + size) % 17 / 10 for task in range(len(names))]
    scores = tuple(
        Score(
            task=task,
            protocol="simcse-sts@1",
            select=select,
            value=value,
            detail=dict.fromkeys(DETAIL, value),
            items=3000,
        )
        for select in ("best", "last")
        for task, value in zip(names, points, strict=True)
    )
    resolved = RESOLVED.format(temperature=temperature)
    return Record(
        format=SCHEMA,
        key=f"{place:016x}",
        status="done",
        benchmark="large",
        method=f"micse+infonce(temperature={temperature})",
        resolved=resolved,
        parts=read_method(resolved),
        data_seen=("subset",),
        encoder=Source(name="bert-base-uncased", sha256="e" * 64),
        corpus=Source(name="wiki1m", sha256="c" * 64),
        subset=Subset(size=size, fraction=size / 1_000_000, sha256=f"{place:064x}"),
        seed=seed,
        protocol=protocol,
        scores=scores,
        trace=Trace(steps=20_000, best_step=125, curve=tuple((125 * n, 1.0 / n, 60.0 + n / 10) for n in range(1, 161))),
        cost=Cost(train_seconds=1.0, score_seconds=1.0, peak_rss_mb=1.0),
        origin=Origin(
            cseb="0.1.0",
            commit="abcdef0",
            versions=dict.fromkeys(
                ("python", "accelerate", "numpy", "scipy", "tokenizers", "torch", "transformers"), "1.0"
            ),
            machine="Linux x86_64",
            device="x86_64",
            dtype="fp32",
            started="2026-01-01T00:00:00+00:00",
            finished="2026-01-01T00:00:01+00:00",
        ),
    )


def write(folder: Path, count: int, items: bool = False) -> float:
    """So many records; returns their mean size in bytes. items: of the embedded tasks, with the scores of each item."""
    protocol = protocol_of("open", "clinc150-dev", "", 1, "cpu") if items else PROTOCOL
    names = [name.partition("@")[0] for name in protocol.tasks] if items else []
    sizes = {name: len(load_task(name, None).clusters()) for name in names}
    rng = np.random.default_rng(0)
    runs = folder / "runs"
    runs.mkdir(parents=True)
    total = 0
    methods = range(1, count // (len(SIZES) * SEEDS) + 1)
    for place, (temperature, size, seed) in enumerate(islice(product(methods, SIZES, range(SEEDS)), count)):
        one = record(place, temperature, size, seed, protocol)
        text = one.model_dump_json(indent=2).encode()
        total += len(text)
        (runs / f"{place:016x}.json").write_bytes(text)
        if items:
            (folder / "items").mkdir(exist_ok=True)
            held: dict[str, Any] = {
                f"{score.task}/{score.select}": rng.random(sizes[score.task.partition("@")[0]], dtype=np.float32)
                for score in one.scores
            }
            np.savez(folder / "items" / f"{one.key}.npz", **held)
    return total / count


def timed(words: list[str], cache: Path) -> tuple[float, float, float, int]:
    """Seconds by the clock and of the processor, peak MB and bytes printed by Python with these words behind it."""
    before = time.perf_counter()
    child = subprocess.Popen(
        [sys.executable, *words],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(cache)},
    )
    assert child.stdout is not None
    written = len(child.stdout.read())
    _, status, usage = os.wait4(child.pid, 0)
    seconds = time.perf_counter() - before
    if status:
        raise SystemExit(f"{' '.join(words)} failed")
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, written


def main() -> None:
    """Measure every kind of table over every number of records asked for."""
    versions = ", ".join(f"{name} {version(name)}" for name in ("numpy", "pydantic", "scipy"))
    print(f"{processor()}, {os.cpu_count()} cores, Python {platform.python_version()}, {versions}")
    for count in map(int, sys.argv[1:] or ["10000"]):
        with tempfile.TemporaryDirectory() as place:
            size = write(Path(place) / "r", count)
            print(f"{count:,} records of {size / 1000:.1f} kB, {len(SIZES)} sizes, {SEEDS} seeds")
            folder, cache = str(Path(place) / "r"), Path(place) / "cache"
            show("a grid's start", timed(["-c", f"{STORE}.load()", folder], cache))
            for name, options in COMMANDS.items():
                command = "compare" if name == "compare" else "report"
                show(name, timed(["-m", "cseb", command, folder, *options], cache))
            if count <= ITEMS:
                write(Path(place) / "i", count, items=True)
                words = ["-m", "cseb", "compare", str(Path(place) / "i"), *COMMANDS["compare"]]
                show("compare, with items", timed(words, cache))


def show(name: str, found: tuple[float, float, float, int]) -> None:
    """One line for a command."""
    seconds, cpu, memory, written = found
    print(f"  {name:24} {seconds:6.2f} s {cpu:6.2f} s CPU {memory:6.0f} MB, writes {written / 1e6:.1f} MB", flush=True)


if __name__ == "__main__":
    main()
