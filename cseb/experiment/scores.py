"""The scores of an encoder by task, and their table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from cseb.text import aligned

if TYPE_CHECKING:
    import pandas as pd

    from cseb.records.record import Record, Score


@dataclass(frozen=True, eq=False)
class Scores(Mapping[str, float | None]):
    """Scores by task, in the order of the request; None for a task without a score.

    Attributes:
        tasks: names of the tasks.
        record: the record of the evaluation.
        failed: why a task has no score.
        stored: the folder of the record, if it was written.
        reused: whether the record existed before.
    """

    tasks: tuple[str, ...]
    record: Record
    failed: Mapping[str, str] = field(default_factory=dict)
    stored: Path | None = None
    reused: bool = False

    def __getitem__(self, task: str) -> float | None:
        if task not in self.tasks:
            raise KeyError(task)
        score = self._scores.get(task)
        return None if score is None else score.value

    def __iter__(self) -> Iterator[str]:
        return iter(self.tasks)

    def __len__(self) -> int:
        return len(self.tasks)

    @property
    def measured(self) -> dict[str, str]:
        """Return the protocol of each task, such as simcse-sts@1."""
        return {task: score.protocol for task, score in self._scores.items()}

    @property
    def average(self) -> float | None:
        """Return the mean of the scores, each rounded to two digits as in the papers.

        None if one is missing, or if tasks are measured in different ways.
        """
        values = [round(value, 2) for value in self.values() if value is not None]
        alike = len(set(self.measured.values())) == 1
        return fmean(values) if alike and len(values) == len(self.tasks) else None

    def frame(self) -> pd.DataFrame:
        """Return one row for each task: task, score (NaN without one), protocol, items, failed."""
        import pandas as pd

        rows = [
            {
                "task": task,
                "score": self[task],
                "protocol": self.measured.get(task, ""),
                "items": self._scores[task].items if task in self._scores else 0,
                "failed": self.failed.get(task, ""),
            }
            for task in self.tasks
        ]
        return pd.DataFrame(rows).astype({"score": float})

    def __str__(self) -> str:
        """Return one column for each task, and their average or the reason why there is none."""
        shown = ["failed" if value is None else f"{value:.2f}" for value in self.values()]
        if self.average is not None:
            return "\n".join(aligned([[*self.tasks, "Avg."], [*shown, f"{self.average:.2f}"]]))
        missing = ", ".join(task for task, value in self.items() if value is None)
        protocols = ", ".join(sorted(set(self.measured.values())))
        reason = f"no score on {missing}" if missing else f"the tasks have different protocols ({protocols})"
        return "\n".join([*aligned([[*self.tasks], shown]), f"No average: {reason}."])

    def __repr__(self) -> str:
        return f"Scores({dict(self)!r})"

    @property
    def _scores(self) -> dict[str, Score]:
        return {score.task.partition("@")[0]: score for score in self.record.scores}
