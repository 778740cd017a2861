"""A folder of records as objects and as a table of pandas, and the arguments that choose among them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cseb.parameters import sizes_and_fractions
from cseb.text import quantity

if TYPE_CHECKING:
    import pandas as pd

    from cseb.analysis.study import StudyQuery
    from cseb.experiment.benchmark import Benchmark
    from cseb.records.record import Record, Score
    from cseb.records.store import Problem


COLUMNS = (
    *("method", "fraction", "size", "seed", "task", "checkpoint", "score", "protocol"),
    *("encoder", "corpus", "benchmark", "task_version", "items", "steps", "best_step"),
    *("train_seconds", "score_seconds", "device", "threads", "precision", "cseb", "key"),
)


@dataclass(frozen=True, slots=True)
class Results:
    """Records of one folder.

    records: one for each run, in order of their keys or of the grid. problems: files that are no records, or jobs that
    left none, each with the reason. trials: records of tuning, which are in no table.
    """

    folder: Path
    records: tuple[Record, ...]
    problems: tuple[Problem, ...] = ()
    trials: tuple[Record, ...] = ()

    @classmethod
    def of(cls, folder: Path, records: Iterable[Record], problems: Iterable[Problem]) -> Results:
        """Return results with the trials of tuning apart from the reported runs."""
        reported: list[Record] = []
        trials: list[Record] = []
        for record in records:
            (trials if record.purpose == "tuning" else reported).append(record)
        return cls(folder, tuple(reported), tuple(problems), tuple(trials))

    def __len__(self) -> int:
        return len(self.records)

    def __iter__(self) -> Iterator[Record]:
        return iter(self.records)

    def __repr__(self) -> str:
        failed = sum(record.status == "failed" for record in self.records)
        counts = [
            quantity(len(self.records), "record"),
            f"{failed} failed",
            quantity(len(self.problems), "problem"),
        ]
        return f"Results({str(self.folder)!r}: {', '.join(counts)})"

    def tuning(self) -> pd.DataFrame:
        """Return one row for each trial of tuning, or one for each search that it belongs to.

        Columns: method, size in sentences, options (the values tried), seed, dev (the score that chooses, NaN for a
        collapsed encoder), chosen (whether a reported run has these values), key.
        """
        import math

        import pandas as pd

        from cseb.analysis.tuning import dev_score, tried

        chosen: dict[str, dict[str, None]] = {}  # by trial: what the searches with it chose
        for record in self.records:
            if record.tuning:
                for key in record.tuning.trials:
                    chosen.setdefault(key, {})[tried(record, record.tuning.options)] = None
        rows = [
            {
                "method": trial.method,
                "size": trial.subset.size,
                "options": options,
                "seed": trial.seed,
                "dev": score if math.isfinite(score := dev_score(trial)) else math.nan,
                "chosen": options in chosen.get(trial.key, {}),
                "key": trial.key,
            }
            for trial in self.trials
            if trial.tuning is not None
            for options in dict.fromkeys(tried(trial, each) for each in chosen.get(trial.key, [trial.tuning.options]))
        ]
        return pd.DataFrame(rows, columns=["method", "size", "options", "seed", "dev", "chosen", "key"])

    def frame(self) -> pd.DataFrame:
        """Return one row for each run, task and checkpoint, with scores in full precision.

        Runs that failed have no scores and so no rows. Columns: method, fraction of the corpus, size in sentences,
        seed, task, checkpoint (``best`` or ``last``), score (NaN for an encoder that has collapsed), protocol (what the
        score measures), encoder, corpus, benchmark, task_version, items (how many were scored), steps, best_step,
        train_seconds, score_seconds, device, threads, precision, cseb (version), key.
        """
        import pandas as pd

        rows = [_row(record, score) for record in self.records for score in record.scores]
        return pd.DataFrame(rows, columns=list(COLUMNS)).astype({"score": float})


def load(results: str | Path = "results") -> Results:
    """Load the records of a folder.

    Args:
        results: the folder.

    Returns:
        All records that can be read; `Results.problems` names the files that cannot, and why.

    Raises:
        BadResults: if there is no such folder of records.

    Examples:
        >>> import cseb
        >>> frame = cseb.load("results").frame()
        >>> frame[frame.checkpoint == "best"].groupby("method").score.mean().round(1).index.tolist()
        ['micse', 'msse', 'simcse']
    """
    from cseb.records.store import Store

    records, problems = Store(Path(results)).load()
    return Results.of(Path(results), records, problems)


def results_of(results: Results | str | Path) -> Results:
    """Return results as they are, or those of a folder."""
    return results if isinstance(results, Results) else load(results)


def _row(record: Record, score: Score) -> dict[str, object]:
    task, _, version = score.task.rpartition("@")
    trace = record.trace
    return {
        "method": record.method,
        "fraction": record.subset.fraction,
        "size": record.subset.size,
        "seed": record.seed,
        "task": task,
        "checkpoint": score.select,
        "score": score.value,
        "protocol": score.protocol,
        "encoder": record.encoder.name,
        "corpus": record.corpus.name,
        "benchmark": record.benchmark,
        "task_version": int(version) if version.isdecimal() else version,
        "items": score.items,
        "steps": trace.steps if trace else None,
        "best_step": trace.best_step if trace else None,
        "train_seconds": record.cost.train_seconds,
        "score_seconds": record.cost.score_seconds,
        "device": record.protocol.device,
        "threads": record.protocol.threads,
        "precision": record.origin.dtype,
        "cseb": record.origin.cseb,
        "key": record.key,
    }


def joined(values: str | Iterable[object]) -> str:
    """Return names or numbers with commas between them: ["a", "b"] and "a,b" are the same."""
    return values if isinstance(values, str) else ",".join(map(str, values))


def names(values: str | Iterable[str]) -> tuple[str, ...]:
    """Return names from a list, or from a text with commas between them."""
    texts = values.split(",") if isinstance(values, str) else values
    return tuple(name.strip() for name in texts if name.strip())


def methods_of(values: str | Iterable[str]) -> tuple[str, ...]:
    """Return methods as records name them; they need not exist here, as records tell all. Raises: BadSpec."""
    from cseb.methods.grammar import labels

    text = joined(values)
    return tuple(dict.fromkeys(labels(text))) if text.strip() else ()


def query(methods: Any, sizes: Any, tasks: Any, checkpoint: str, **others: Any) -> StudyQuery:
    """Return the query for a folder of records. Raises: BadBenchmark, BadSpec, UnknownName."""
    from cseb.analysis.study import StudyQuery
    from cseb.tasks.names import recorded_names

    counts, fractions = sizes_and_fractions(sizes)
    return StudyQuery(
        methods=methods_of(methods),
        fractions=fractions,
        sizes=counts,
        tasks=recorded_names(names(tasks)),
        select=checkpoint,  # type: ignore[arg-type]
        **others,
    )


def benchmarks_of(folder: Path, records: Iterable[Record]) -> list[Benchmark]:
    """Return the benchmarks that records of a folder belong to, as they were run. Raises: BadBenchmark."""
    from cseb.experiment.benchmark import stored_benchmark

    names_of = sorted({record.benchmark for record in records})
    return [benchmark for name in names_of if (benchmark := stored_benchmark(folder, name)) is not None]


def as_planned(query: StudyQuery, records: Sequence[Record], planned: Sequence[Benchmark]) -> StudyQuery:
    """Return the query with the planned order and seeds, so that a missing run is visible, and a checkpoint."""
    order = dict.fromkeys(method for benchmark in planned for method in methods_of(benchmark.methods))
    # More seeds of one method, such as the baseline, are not planned for the others.
    several = [benchmark for benchmark in planned if len(methods_of(benchmark.methods)) > 1]
    seeds = {seed for benchmark in several for seed in range(benchmark.seeds)}
    select = query.select or ("best" if any(record.protocol.dev for record in records) else "last")
    return replace(query, order=tuple(order), seeds=tuple(sorted(seeds)), select=select)
