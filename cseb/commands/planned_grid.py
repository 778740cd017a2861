"""A planned grid of methods, training set sizes and seeds: the files that it reads, and how it runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from cseb.progress import unheard
from cseb.text import aligned

if TYPE_CHECKING:
    from cseb.experiment.benchmark import Benchmark
    from cseb.experiment.grid import Grid
    from cseb.experiment.job import Job
    from cseb.launchers import Launcher
    from cseb.launchers.job_runner import Summary, Watch


@dataclass(frozen=True, slots=True)
class PlannedGrid:
    """A grid ready to run.

    following: plans the runs that follow these tuning trials; None if there are none.
    """

    grid: Grid  # the jobs
    launcher: Launcher  # runs them
    models: Path | None = None  # folder of trained encoders, if they are saved
    remote: bool = False  # whether jobs run on other machines
    following: Callable[[], PlannedGrid] | None = None

    def run(self, watching: Callable[[Grid], AbstractContextManager[Watch]] | None = None) -> Summary:
        """Run the jobs that have no record yet. watching: returns the display of every event. Raises: CsebError."""
        from cseb.launchers import launch

        grid = self.grid
        grid.prepare(self.models)
        with unheard(), watching(grid) if watching else nullcontext(lambda _: None) as watch:
            again = frozenset(grid.records) & {job.key for job in grid.todo}
            return launch(
                grid.in_order() if self.remote else _one_library(grid.in_order()),
                grid.store,
                self.launcher,
                watch,
                models=self.models,
                again=again,
            )


def run_stages(
    planned: PlannedGrid, watching: Callable[[Grid], AbstractContextManager[Watch]] | None = None
) -> tuple[PlannedGrid, Summary]:
    """Run a grid, of a benchmark that tunes the trials first. Return the last grid and its summary.

    It ends early if it is stopped or a trial leaves no record. watching: see `PlannedGrid.run`. Raises: CsebError.
    """
    summary = planned.run(watching)
    while planned.following is not None and not summary.stopped:
        protocol = planned.grid.jobs[0].protocol
        if protocol.processes > 1:
            from cseb.encoder.distributed import agreed

            agreed([], protocol.device, protocol.threads)  # waits until the first process has written its records
        following = planned.following()
        if {job.key for job in following.grid.jobs} == {job.key for job in planned.grid.jobs}:
            break
        planned = following
        summary = planned.run(watching)
    return planned, summary


def _one_library(jobs: Sequence[Job]) -> Sequence[Job]:
    """Resolve the library of linear layers once, so that no job chooses another."""
    if not jobs:
        return jobs
    from cseb.encoder.distributed import agreed
    from cseb.encoder.linear import resolved

    protocol = jobs[0].protocol
    linear: str = resolved(jobs[0].linear, protocol.threads, protocol.device)
    if protocol.processes > 1:
        (linear,) = agreed([linear], protocol.device, protocol.threads)
    return [replace(job, linear=linear) for job in jobs]


HERE = "yes"
DOWNLOADED = "downloaded from the hub when the run starts"
HEAD = ("input", "name", "rows", "here", "how to get it")


def inputs(benchmark: Benchmark) -> list[tuple[str, str, str, str, str]]:
    """Return a row below HEAD for the encoder, the corpus and each data set of the tasks. Nothing is downloaded."""
    from cseb.data.manifest import DataFile, DataSet, data_sets, how_to_get, locate
    from cseb.data.shipped import ENCODERS
    from cseb.data.weights import HUB_NAME
    from cseb.tasks.names import parse_tasks

    folder = Path(benchmark.data_dir) if benchmark.data_dir else None

    def of_manifest(kind: str, data: DataSet, files: list[DataFile]) -> tuple[str, str, str, str, str]:
        present = sum(locate(data, file, folder) is not None for file in files)
        here = HERE if present == len(files) else f"{present} of {len(files)}" if present else "no"
        how = f"{how_to_get(data)}{f' (part of {data.hub.file})' if data.hub and data.hub.archive else ''}"
        return kind, data.name, f"{data.rows:,}", here, "" if here == HERE else how

    encoder, corpus = benchmark.encoder, benchmark.corpus
    known = (
        encoder in ENCODERS
        or Path(encoder).is_dir()
        or not HUB_NAME.fullmatch(encoder)
        or _cached(encoder, "config.json")
    )
    rows = [("encoder", encoder, "", HERE if known else "no", "" if known else DOWNLOADED)]
    kind, _, file = corpus.partition(":")
    of_corpus = [(data, list(data.files_called(file))) for data in data_sets().values()] if kind == "data" else []
    rows += [of_manifest("corpus", data, files) for data, files in of_corpus if files]
    if kind == "hub" and len(parts := file.split("/", 2)) == 3:
        known = _cached("/".join(parts[:2]), parts[2], "dataset")
        rows.append(("corpus", corpus, "", HERE if known else "no", "" if known else DOWNLOADED))
    elif kind not in ("data", "wikipedia", "hub"):
        missing = not Path(file if kind == "generated" else corpus).exists()
        rows.append(("corpus", corpus, "", "no" if missing else HERE, "name an existing file" if missing else ""))
    tasks = [task.name for names in (benchmark.tasks, benchmark.dev) if names for task in parse_tasks(names)]
    for data in data_sets().values():
        if any(data.serves(task.rpartition(":")[2]) for task in tasks):
            rows.append(of_manifest("task", data, list(data.files)))
    return rows


def missing_inputs(benchmark: Benchmark) -> tuple[list[str], list[str]]:
    """Return the names of the inputs that are not here, and a table of all inputs if there are any."""
    rows = inputs(benchmark)
    missing = [row[1] for row in rows if row[3] != HERE]
    return missing, aligned([HEAD, *rows]) if missing else []


def _cached(repository: str, file: str, kind: str = "model") -> bool:
    """Return whether a file of the hub is in the cache on this machine."""
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    name, _, revision = repository.partition("@")
    try:
        return isinstance(try_to_load_from_cache(name, file, revision=revision or None, repo_type=kind), str)
    except HFValidationError:  # no name of a repository; opening it says so
        return False
