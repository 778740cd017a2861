"""The command that trains a grid again and says what has moved: by our code, by drift, or from the papers."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from cseb.cli.grid import BenchmarkName, Grid, Quiet
from cseb.cli.hosts import Device, Threads, Workers, device_of, workers_of
from cseb.errors import BadBenchmark, BadResults, one_of

if TYPE_CHECKING:
    from cseb.benchmark import Benchmark
    from cseb.results.answers import Answer
    from cseb.results.record import Record
    from cseb.results.reference import Reference
    from cseb.results.store import Store

# What an older processor would do: PyTorch's and MKL's kernels round sums in another order on each. Read when a process
# loads torch, so they take two workers, which are processes of their own.
AVX2 = {"ATEN_CPU_CAPABILITY": "avx2", "MKL_CBWR": "AVX2", "ONEDNN_MAX_CPU_ISA": "AVX2"}
OLDEST = {"ATEN_CPU_CAPABILITY": "default", "MKL_CBWR": "COMPATIBLE", "ONEDNN_MAX_CPU_ISA": "SSE41"}
TURNS: tuple[tuple[int, str, bool, Mapping[str, str]], ...] = (  # threads, workers, order of jobs, instructions
    (1, "1", False, {}),
    (2, "1", True, {}),
    (1, "2", False, AVX2),
    (1, "2", True, OLDEST),
    (4, "1", False, {}),
    (2, "2", True, AVX2),
)
VARIED = "1, 2 and 4 threads, order of jobs, 1 and 2 processes, instruction sets of older processors"


def check(
    benchmark: BenchmarkName,
    *,
    update: Annotated[bool, typer.Option("--update", help="Make the fresh records what is expected.")] = False,
    calibrate: Annotated[
        bool, typer.Option("--calibrate", help="Train seed 0 six times; store how far that scatters.")
    ] = False,
    against: Annotated[str, typer.Option(help="published: hold the means against those of the papers.")] = "",
    results: Annotated[Path | None, typer.Option(help="Compare these records; train nothing.")] = None,
    format: Annotated[str, typer.Option("--format", "-f", help="terminal, github or junit.")] = "terminal",
    junit: Annotated[Path | None, typer.Option(help="Also write a JUnit file.")] = None,
    workers: Workers = "auto",
    threads: Threads = 1,
    device: Device = "auto",
    quiet: Quiet = False,
) -> None:
    """Run a benchmark afresh and compare it with the records it is expected to give; 1 if a number has moved.

    Three questions apart. Code: on the machine class of the expected records every bit comes back, or the first field
    that differs is named. Drift: averages stay within the repeatability limit that --calibrate measured.
    Paper, with --against published: a printed number lies in our interval, outside, or cannot be compared.
    """
    from cseb import benchmark as benchmarks
    from cseb.results import answers as said
    from cseb.results.store import Store

    render = said.FORMATS[one_of(tuple(said.FORMATS), format, "--format")]
    one_of(("", "published"), against, "--against")
    loaded = benchmarks.load(benchmark)
    expected = Store(benchmarks.expected(benchmark, loaded.name))
    run = _Run(loaded, workers, threads, device_of(device), quiet or format == "junit")  # one document on stdout
    if calibrate:
        _calibrate(run, expected)
        return
    if not update and not against:
        _expected_records(expected, benchmark)  # said before anything is trained
    with run.trained(results) as fresh:
        records = fresh.load()[0]
        if update:
            _update(fresh, records, expected)
            return
        found = _against_papers(records) if against else _against_expected(loaded, fresh, records, expected, benchmark)
    typer.echo(render(found), nl=False)
    if junit is not None:
        _write(junit, said.junit(found))
    raise typer.Exit(1 if any(one.ok is False for one in found) else 0)


@dataclass(frozen=True, slots=True)
class _Run:
    """A grid and how it is trained."""

    benchmark: Benchmark
    workers: str
    threads: int
    device: str
    quiet: bool
    backwards: bool = False

    @contextmanager
    def trained(self, results: Path | None = None) -> Iterator[Store]:
        """The store of a fresh run, gone afterwards; or that of `results`. Leaves the command if the run is stopped."""
        from cseb.plan import plan
        from cseb.results.store import Store

        if results is not None:
            yield Store(results)
            return
        jobs = plan(self.benchmark, threads=self.threads, device=self.device)
        workers = workers_of(self.workers, self.threads, self.device)
        with TemporaryDirectory(prefix="cseb-check-") as folder:
            grid = Grid.of(self.benchmark, jobs[::-1] if self.backwards else jobs, Store(Path(folder)), workers)
            summary = grid.run(self.quiet)
            if summary.stopped or summary.refused:
                raise typer.Exit(summary.exit_code)
            yield grid.store


def _against_papers(records: Sequence[Record]) -> list[Answer]:
    from cseb.results.reproduce import reproduced

    found = reproduced(records)
    if not found:
        raise BadResults(
            "no paper prints a number for these methods at these shares; cseb show METHOD lists what is printed"
        )
    return found


def _against_expected(
    benchmark: Benchmark, fresh: Store, records: Sequence[Record], expected: Store, name: str
) -> list[Answer]:
    from cseb.results import reference as references
    from cseb.results.check import compare

    reference, wanted = references.read(expected.folder), _expected_records(expected, name)
    verdicts = compare(records, wanted, *_limits(benchmark, reference, wanted, name))
    return [*_by_code(fresh, records, wanted, reference), *(verdict.answer for verdict in verdicts)]


def _by_code(fresh: Store, records: Sequence[Record], wanted: Sequence[Record], reference: Reference) -> list[Answer]:
    from cseb.results import reference as references
    from cseb.results.answers import Answer
    from cseb.results.unchanged import unchanged

    here = references.conditions(records)
    if not reference.conditions:
        why = "it is not known on what the expected records were made; --update writes it down"
    elif not (why := references.apart(here, reference.conditions)):
        digests: dict[str, str] = {}
        for one in records:
            digests |= references.digests(one.key, fresh.read_items(one.key)) if one.status == "done" else {}
        return unchanged(records, wanted, digests, reference.items)
    return [Answer(question="code", cell="all", ok=None, text=f"other bits are to be expected: {why}")]


def _limits(
    benchmark: Benchmark, reference: Reference, wanted: Sequence[Record], name: str
) -> tuple[float, Mapping[str, float]]:
    """The tolerance of the benchmark's file, and what was measured for single methods, which wins."""
    measured, cells = reference.repeatability, sum(len({score.select for score in one.scores}) for one in wanted)
    names = {one.method for one in wanted}
    limits = {one: limit for one in names if measured and (limit := measured.limit(one, cells)) is not None}
    if benchmark.tolerance is None and (missing := sorted(names - set(limits))):
        raise BadBenchmark(
            f"how far {missing[0]} may move is not known; measure it: cseb check {name} --calibrate, or add a "
            "tolerance to the benchmark, in points, such as tolerance: 0.5"
        )
    return benchmark.tolerance or 0.0, limits


def _update(fresh: Store, records: Sequence[Record], expected: Store) -> None:
    from cseb.results import check as checking
    from cseb.results import reference as references

    if expected.folder.resolve() == fresh.folder.resolve():
        raise BadResults(f"{expected.folder} cannot be updated from itself")
    expected.folder.parent.mkdir(parents=True, exist_ok=True)
    written, removed = checking.update(records, expected.folder)
    old, conditions = references.read(expected.folder), references.conditions(records)
    kept = {
        name: digest for name, digest in old.items.items() if name.partition("/")[0] in expected.keys() - {*written}
    }
    new = {name: each for key in written for name, each in references.digests(key, fresh.read_items(key)).items()}
    references.write(expected.folder, old.model_copy(update={"conditions": conditions, "items": kept | new}))
    typer.echo(f"{len(written)} records written to {expected.folder}, {len(removed)} removed")
    if old.repeatability and (why := references.apart(conditions, old.repeatability.conditions)):
        typer.echo(f"repeatability was measured elsewhere ({why}); measure it again with --calibrate")


def _calibrate(run: _Run, expected: Store) -> None:
    """Repeat the smallest share of seed 0 under what nobody controls, and store how far its averages scatter."""
    from cseb.results import reference as references

    small = {axis: tuple(held[:1]) for axis in ("fractions", "sizes") if (held := sorted(getattr(run.benchmark, axis)))}
    pinned = replace(run, benchmark=run.benchmark.model_copy(update={**small, "seeds": 1}))
    repeats: list[list[Record]] = []
    for number, (threads, workers, backwards, instructions) in enumerate(TURNS, 1):
        turn = replace(pinned, threads=threads, workers=workers, backwards=backwards)
        with _environment(instructions), turn.trained() as store:
            repeats.append(store.load()[0])
        typer.echo(f"repeat {number} of {len(TURNS)} done", err=True)
    measured = references.Repeatability(
        repeats=len(repeats),
        cells=f"seed 0 of the smallest share: {len(repeats[0])} jobs",
        varied=VARIED,
        conditions=references.conditions(repeats[0]),
        sd=references.scatter(repeats),
    )
    expected.folder.mkdir(parents=True, exist_ok=True)
    old = references.read(expected.folder)
    references.write(expected.folder, old.model_copy(update={"repeatability": measured}))
    for method, deviation in measured.sd.items():
        typer.echo(f"{method}: sd {deviation:.4f} points, limit for one cell ±{measured.limit(method):.4f}")


@contextmanager
def _environment(changes: Mapping[str, str]) -> Iterator[None]:
    """These variables, for processes that start meanwhile."""
    before = {name: os.environ.get(name) for name in changes}
    os.environ.update(changes)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _expected_records(expected: Store, benchmark: str) -> list[Record]:
    records = expected.load()[0] if expected.runs.is_dir() else []
    if not records:
        raise BadResults(f"nothing is expected in {expected.folder}; make it with: cseb check {benchmark} --update")
    return records


def _write(path: Path, text: str) -> None:
    from cseb.data.files import write_whole

    try:
        write_whole(path, [text.encode()])
    except OSError as error:
        raise BadResults(f"{path} cannot be written: {error.strerror}") from None
