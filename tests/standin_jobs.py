"""Jobs that need no torch: what a job does is its label. Also a program that launches them, for tests of signals."""

import os
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from cseb.commands import hosts
from cseb.errors import BadData
from cseb.experiment.job import Job
from cseb.launchers import launch
from cseb.launchers.job_runner import Event
from cseb.methods.grammar import parse_method
from cseb.records.method_text import stated
from cseb.records.progress import Progress
from cseb.records.record import Cost, Failure, Origin, Protocol, Record, Score, Source, Subset, Trace
from cseb.records.store import Store

TARGET = "tests.standin_jobs:run_job"
_LOST: list[str] = []  # of this process
SOURCE = Source(name="nothing", sha256="0" * 64)
PROTOCOL = Protocol(tasks=("toy-mixed@1",), data="d" * 64, dev="toy-dev@1", dev_pairs=10, threads=1, device="cpu")


def job(label: str, seed: int = 0, fraction: float = 0.1) -> Job:
    return Job(
        benchmark="standin",
        label=label,
        method=parse_method("simcse").at(fraction),
        encoder=SOURCE,
        folder="",
        corpus=SOURCE,
        column="",
        size=round(1000 * fraction),
        fraction=fraction,
        seed=seed,
        protocol=PROTOCOL,
        data_dir="",
        trust_remote_code=False,
    )


def jobs(*labels: str) -> list[Job]:
    """One job for each label, with seeds 0, 1, ..."""
    return [job(label, seed) for seed, label in enumerate(labels)]


def record(job: Job, value: float | None = 50.0, seconds: float = 2.0, failed: str = "") -> Record:
    scores = [Score(task="toy-mixed@1", protocol="p@1", select="best", value=value, detail={}, items=10)]
    scores.append(replace(scores[0], select="last"))
    return Record(
        key=job.key,
        status="failed" if failed else "done",
        benchmark=job.benchmark,
        method=job.label,
        resolved=job.method.resolved(),
        parts=stated(job.method),
        data_seen=("subset",),
        encoder=job.encoder,
        corpus=job.corpus,
        subset=Subset(size=job.size, fraction=job.fraction, sha256=""),
        seed=job.seed,
        protocol=job.protocol,
        scores=() if failed else tuple(scores),
        trace=None if failed else Trace(steps=2, best_step=1, curve=((1, 0.5, 60.0), (2, 0.4, 55.0))),
        failure=Failure(step=1, reason=failed) if failed else None,
        cost=Cost(train_seconds=seconds, score_seconds=0.0, peak_rss_mb=1.0),
        origin=Origin(
            cseb="0", commit="", versions={}, machine="", device="cpu", dtype="fp32", started="", finished=""
        ),
    )


def run_job(job: Job, store: Store, watch: Callable[[Progress], None], models: Path | None = None) -> Record:
    begun = _try(job, store) if job.label in ("waits", "killed-once") else 0
    watch(Progress(job.key, 1, 2, 0.5, 60.0))
    if job.label == "assert" or "assert" in _LOST:  # after a CUDA error every later call of the process fails, too
        _LOST.append("assert")
        raise RuntimeError("CUDA error: device-side assert triggered")
    match job.label:
        case "mistake":
            raise BadData("the corpus is gone")
        case "bug":
            raise ZeroDivisionError("a bug of ours")
        case "memory":
            raise MemoryError
        case "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        case "real-time":
            os.kill(os.getpid(), 40)
        case "left":
            os._exit(3)
        case "ctrl-c":
            raise KeyboardInterrupt
        case "slow":
            time.sleep(60)
        case "waits":
            while not (store.folder / "go").exists():
                time.sleep(0.05)
        case "killed-once" if begun == 1:
            os.kill(os.getpid(), signal.SIGKILL)
    contents = {"device": os.environ.get("CUDA_VISIBLE_DEVICES", ""), "pid": str(os.getpid())}
    if job.label in contents:
        store.write(record(job).model_copy(update={"benchmark": contents[job.label]}), {})
        return store.read(job.key)
    made = record(job, failed="the loss is nan" if job.label == "nan" else "")
    store.write(made, {})
    return made


def _try(job: Job, store: Store) -> int:
    with (store.folder / f"tried-{job.key}").open("a") as file:
        file.write(f"{os.getpid()}\n")
    return tries(job, store)


def tries(job: Job, store: Store) -> int:
    """How often a job was begun, of those that count it."""
    return len(processes(job, store))


def processes(job: Job, store: Store) -> list[int]:
    """Those in which a job was begun, of jobs that tell."""
    path = store.folder / f"tried-{job.key}"
    return [int(line) for line in path.read_text().splitlines()] if path.exists() else []


def say(*words: object) -> None:
    print(*words, flush=True)  # noqa: T201


def main(folder: str, workers: str, launcher: str = "local") -> None:
    """One quick job, then slow ones."""
    jobs = [job("quick"), *(job("slow", seed) for seed in range(4))]

    def watch(event: Event) -> None:
        say(type(event).__name__)

    where = hosts.launcher_of(launcher, int(workers), "")
    summary = launch(jobs, Store(Path(folder)), where, watch, target=TARGET)
    say("stopped" if summary.stopped else "ended", summary.done)
    sys.exit(summary.exit_code)


if __name__ == "__main__":
    main(*sys.argv[1:])
