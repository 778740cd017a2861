"""A benchmark trained again in a temporary folder, and the comparison of its records with others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from cseb.errors import BadResults, CsebError

if TYPE_CHECKING:
    from cseb.experiment.benchmark import Benchmark
    from cseb.experiment.grid import Grid
    from cseb.launchers.events import Summary, Watch
    from cseb.records.record import Record
    from cseb.records.store import Store
    from cseb.regression.check_results import CheckResult


class Stopped(CsebError):
    """A fresh run that did not get to its end."""

    def __init__(self, summary: Summary) -> None:
        super().__init__("the fresh run did not get to its end, so nothing was compared")
        self.exit_code = summary.exit_code


@dataclass(frozen=True, slots=True)
class FreshRun:
    """A benchmark and how it is trained again, in a folder that is removed afterwards.

    Attributes:
        benchmark: what to train.
        name: the benchmark as typed.
        against: "published" to compare with papers, "" for the expected records.
        records_of: a folder of records to compare instead of training.
        watching: see `PlannedGrid.run`.
        options: further options of `run`.
    """

    benchmark: Benchmark
    name: str
    against: str = ""
    records_of: Path | None = None
    watching: Callable[[Grid], AbstractContextManager[Watch]] | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        benchmark: str | Path,
        *,
        against: str = "",
        results: str | Path = "",
        data_dir: str | Path = "",
        watching: Callable[[Grid], AbstractContextManager[Watch]] | None = None,
        **options: Any,
    ) -> FreshRun:
        """Return the cells that a benchmark wants checked; the parameters are those of `check`. Raises: CsebError."""
        from cseb.experiment import benchmark as benchmarks

        loaded = benchmarks.cells_to_check(benchmarks.load(str(benchmark)))
        chosen = benchmarks.override(loaded, data_dir=str(data_dir))
        folder = Path(results) if results else None
        return cls(chosen, str(benchmark), against, folder, watching, options)

    def results(self) -> list[CheckResult]:
        """Return one result for each cell and question. Raises: CsebError."""
        return self.against_papers() if self.against else self.compared()

    @property
    def expected(self) -> Store:
        """Where the expected records lie."""
        from cseb.experiment.benchmark import expected
        from cseb.records.store import Store

        return Store(expected(self.name, self.benchmark.name))

    @contextmanager
    def trained(self) -> Iterator[Store]:
        """The store of a fresh run, or that of `results`. Raises: Stopped."""
        from cseb.commands.grid import run_stages
        from cseb.commands.run import plan_grid
        from cseb.records.store import Store

        if self.records_of is not None:
            yield Store(self.records_of)
            return
        with TemporaryDirectory(prefix="cseb-check-") as folder:
            planned, summary = run_stages(plan_grid(self.benchmark, folder, **self.options), self.watching)
            if summary.stopped or summary.refused:
                raise Stopped(summary)
            yield planned.grid.store

    def records(self, store: Store) -> list[Record]:
        """Those of a store, or of `results` those of the cells to check. Raises: BadResults."""
        records = [record for record in store.load()[0] if record.purpose == "reported"]
        if self.records_of is None or self.benchmark.check == type(self.benchmark.check)():
            return records
        return [one for one in records if self._is_cell(one)]

    def _is_cell(self, record: Record) -> bool:
        from cseb.methods.grammar import labels

        benchmark, subset = self.benchmark, record.subset
        return (
            record.method in labels(benchmark.methods)
            and (subset.size in benchmark.sizes or subset.fraction in benchmark.fractions)
            and record.seed < benchmark.seeds
            and record.encoder.name == benchmark.encoder
        )

    def compared(self) -> list[CheckResult]:
        """Fresh records against the expected ones; not checked where the data are not here. Raises: CsebError."""
        from cseb.data.places import absent
        from cseb.regression.check_results import CheckResult
        from cseb.regression.expected import against_expected, expected_records

        if self.records_of is None and (missing := absent(self._data(), self.benchmark.data_dir)):
            return [CheckResult(question="code", cell="all", ok=None, text=f"skipped: no data: {missing}")]
        expected_records(self.expected, self.name)  # said before anything is trained
        with self.trained() as fresh:
            return against_expected(self.benchmark.tolerance, fresh, self.records(fresh), self.expected, self.name)

    def _data(self) -> list[str]:
        """Names of tasks and files of the manifest that the benchmark reads."""
        from cseb.tasks.names import parse_tasks

        benchmark = self.benchmark
        tasks = [task for named in (benchmark.tasks, benchmark.dev) if named for task in parse_tasks(named)]
        kind, _, file = benchmark.corpus.partition(":")
        return [*(task.name for task in tasks), *([file] if kind == "data" else [])]

    def against_papers(self) -> list[CheckResult]:
        """Means of fresh records against what papers print. Raises: BadResults where no paper prints any."""
        from cseb.papers.reproduce import reproduced

        with self.trained() as fresh:
            found = reproduced(self.records(fresh))
        if not found:
            raise BadResults(
                "no paper prints a number for these methods at these fractions on these tasks; "
                "cseb show METHOD lists published numbers"
            )
        return found

    def update(self) -> tuple[Path, int, int, str]:
        """Make fresh records the expected ones.

        Returns:
            The folder, how many records were written and removed, and what differs from the machine that the limits
            were measured on.

        Raises:
            CsebError: If a job failed or the folder cannot be written.
        """
        from cseb.regression.expected import update

        with self.trained() as fresh:
            return self.expected.folder, *update(fresh, self.records(fresh), self.expected)
