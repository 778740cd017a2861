"""What it costs to run many jobs: python benchmarks/speed/launch.py [--parts trivial,fixed,dry,weights,threads,demo].

trivial: jobs that do nothing, through a launcher (--launcher local, ray or slurm). fixed: what a job takes in a warm
worker beyond its training. dry: `cseb run --dry-run` of 10,000 jobs. weights: an encoder's weights
for each job, read or kept. threads: one process with two threads against two
with one. demo: the demo's grid with one worker and with two. CPU seconds are of all processes together.
"""

from __future__ import annotations

import argparse
import os
import pkgutil
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))

CHILD = """
import sys, time, torch
from pathlib import Path
from cseb.training.build import build
from cseb.data.corpus import read_corpus
from cseb.methods.grammar import parse_method
from cseb.training.loop import train
folder, threads, steps, jobs = sys.argv[1], *map(int, sys.argv[2:])
torch.set_num_threads(threads)
recipe = f"recipe(steps={steps},batch_size=64,eval_every={steps},last_batch=drop,warmup=0)"
sentences = read_corpus("wikipedia:2000").take(range(640))
method = parse_method(f"simcse+{recipe}").at(1.0)
def job():
    train(build(method, Path(folder), 0), sentences, 0, "cpu", None, lambda look: None)
job()
print("ready", flush=True)
sys.stdin.readline()
for _ in range(jobs):
    job()
"""


def cpu() -> float:
    """Seconds of the processor so far, of this process and of all it has waited for."""
    own, others = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + others.ru_utime + others.ru_stime


def timed(run: Callable[[], Any]) -> tuple[float, float]:
    """Seconds by the clock and of the processor."""
    clock, before = time.perf_counter(), cpu()
    run()
    return time.perf_counter() - clock, cpu() - before


def trivial(options: argparse.Namespace) -> None:
    """Seconds per job that does nothing, the launcher's own start and end included."""
    from cseb.launchers import launch
    from cseb.records.store import Store
    from tests import standin_jobs

    jobs = [standin_jobs.job("trivial", seed) for seed in range(options.jobs)]
    name, _, details = options.launcher.partition(":")
    launcher = pkgutil.resolve_name("cseb.commands.hosts:launcher_of")(name, options.workers, details)
    with tempfile.TemporaryDirectory(dir=options.folder) as place:
        store = Store(Path(place) / "results")
        store.prepare()
        summaries = []
        wall, used = timed(
            lambda: summaries.append(launch(jobs, store, launcher, lambda event: None, target=standin_jobs.TARGET))
        )
        assert summaries[0].done == options.jobs, summaries
    print(
        f"trivial: {options.jobs:,} jobs, launcher {options.launcher}, {options.workers} workers: {wall:.1f} s, "
        f"{1000 * wall / options.jobs:.1f} ms a job; {used:.1f} s CPU, {1000 * used / options.jobs:.1f} ms a job",
        flush=True,
    )


def fixed(options: argparse.Namespace) -> None:
    """A job beyond its training, in a process that has run others before."""
    from cseb.experiment import benchmark as benchmarks
    from cseb.experiment.plan import plan
    from cseb.experiment.run_job import run_job
    from cseb.records.store import Store

    grid = benchmarks.override(
        benchmarks.load("demo"),
        methods="simcse",
        sizes="100",
        steps=min(10, options.steps),
        encoder=options.encoder,
        seeds=7,
    )
    with tempfile.TemporaryDirectory() as place:
        store = Store(Path(place) / "results")
        store.prepare()
        beyond: list[tuple[float, ...]] = []
        for job in plan(grid):
            clock, before = time.perf_counter(), time.process_time()
            cost = run_job(job, store, lambda progress: None).cost
            wall, used = time.perf_counter() - clock, time.process_time() - before
            trained = wall - cost.train_seconds
            beyond.append((trained, trained - cost.score_seconds, used - (cost.cpu_seconds or 0.0)))
    warm = [statistics.median(values) for values in zip(*beyond[2:], strict=True)]
    print(
        f"fixed: {options.encoder}: beyond training {warm[0]:.2f} s, of that {warm[0] - warm[1]:.2f} s scoring; the "
        f"rest {warm[1]:.2f} s by the clock, {warm[2]:.2f} s CPU (medians of {len(beyond) - 2} warm jobs; the first "
        f"job of the process: {beyond[0][1]:.2f} s)",
        flush=True,
    )


def dry(options: argparse.Namespace) -> None:
    """A plan of 10,000 jobs: 200 methods, five shares, ten seeds."""
    methods = ",".join(f"simcse+infonce(temperature={number / 1000})" for number in range(10, 210))
    shares = ("--sizes", "100,200,500,1000,10000", "--seeds", "10", "--device", "cpu")
    command = [sys.executable, "-m", "cseb", "run", "demo", "--dry-run", "--methods", methods, *shares]
    for _ in range(options.rounds):
        wall, used = timed(lambda: subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.DEVNULL))
        print(f"dry: 10,000 jobs planned and listed in {wall:.2f} s, {used:.2f} s CPU", flush=True)


def weights(options: argparse.Namespace) -> None:
    """An encoder of BERT-base's size for each job: its file mapped again, against a copy of one kept in memory."""
    import copy

    import torch
    from transformers import AutoModel, BertConfig, BertModel

    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as place:
        BertModel(BertConfig()).save_pretrained(place)
        read: Callable[[], Any] = lambda: AutoModel.from_pretrained(place, dtype=torch.float32)  # noqa: E731
        kept = read()
        found = {}
        for name, way in {"mapped": read, "copied": lambda: copy.deepcopy(kept)}.items():
            touched: list[Any] = []
            times = [timed(lambda way=way, held=touched: held.append(way())) for _ in range(5)]  # type: ignore[misc]
            sums = [timed(lambda model=model: sum(w.sum() for w in model.parameters())) for model in touched]  # type: ignore[misc]
            found[name] = [statistics.median(used for _, used in each) for each in (times, sums)]
    parts = (f"{name} {make:.3f} s CPU, first reading of all {first:.3f} s" for name, (make, first) in found.items())
    print(f"weights: 110 million, {'; '.join(parts)}", flush=True)


def threads(options: argparse.Namespace) -> None:
    """Two jobs: one after the other with two threads, or side by side with one thread each."""
    from cseb.data.weights import find_encoder

    folder, _ = find_encoder(options.encoder)

    def run(processes: int, each: int, jobs: int) -> float:
        place = os.environ | {"OMP_NUM_THREADS": str(each)}
        command = [sys.executable, "-c", CHILD, str(folder), *map(str, (each, options.steps, jobs))]
        children = [
            subprocess.Popen(command, env=place, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            for _ in range(processes)
        ]
        for child in children:
            assert child.stdout is not None
            assert child.stdout.readline() == "ready\n"
        clock = time.perf_counter()
        for child in children:
            assert child.stdin is not None
            child.stdin.write("\n")
            child.stdin.flush()
        for child in children:
            child.wait()
        return time.perf_counter() - clock

    for _ in range(options.rounds):
        one, two = run(1, 2, 2), run(2, 1, 1)
        print(
            f"threads: {options.encoder}: two jobs of {options.steps} steps: one process with two threads {one:.1f} s, "
            f"two processes with one {two:.1f} s: ratio {one / two:.2f}; load {os.getloadavg()[0]:.1f}",
            flush=True,
        )


def demo(options: argparse.Namespace) -> None:
    """The demo's grid, or fewer of its steps and seeds, with one worker and with two, in turn."""
    for _ in range(options.rounds):
        seconds: list[float] = []
        for workers in ("1", "2"):
            with tempfile.TemporaryDirectory() as place:
                shape = ("--steps", str(options.steps), "--seeds", str(options.seeds), "--workers", workers)
                words = ("run", "demo", "--quiet", "--results", f"{place}/r", *shape)
                command = [sys.executable, "-m", "cseb", *words]
                wall, used = timed(lambda command=command: subprocess.run(command, check=True, cwd=ROOT))  # type: ignore[misc]
            seconds.append(wall)
            print(f"demo: {workers} workers: {wall:.1f} s, {used:.1f} s CPU; load {os.getloadavg()[0]:.1f}", flush=True)
        print(f"demo: {options.steps} steps, {options.seeds} seeds: ratio {seconds[0] / seconds[1]:.2f}", flush=True)


PARTS: dict[str, Callable[[argparse.Namespace], None]] = {
    "trivial": trivial,
    "fixed": fixed,
    "dry": dry,
    "weights": weights,
    "threads": threads,
    "demo": demo,
}


def main() -> None:
    """Measure what is asked for, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--launcher", default="local")
    parser.add_argument("--folder", default=None, help="where trivial jobs write; a shared file system, for instance")
    parser.add_argument("--jobs", type=int, default=1000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--encoder", default="cseb-tiny")
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=1)
    options = parser.parse_args()
    print(f"{time.strftime('%Y-%m-%d %H:%M')}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}", flush=True)
    for part in options.parts.split(","):
        PARTS[part](options)


if __name__ == "__main__":
    main()
