"""Events of a running grid, and the summary at its end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from cseb.records.progress import Progress
from cseb.records.record import Record


@dataclass(frozen=True, slots=True)
class Started:
    """A job was handed to a worker."""

    key: str


@dataclass(frozen=True, slots=True)
class Finished:
    """A job has a record; its status may still be `failed`, such as after a loss that is no number."""

    key: str
    record: Record


@dataclass(frozen=True, slots=True)
class Broken:
    """A job left no record.

    kind: a user error, a bug in cseb (detail: its traceback), exhausted memory, a CUDA error after which the process
    can use its GPU no more, or the end of its worker process.
    """

    key: str
    kind: Literal["user", "bug", "memory", "device", "died"]
    reason: str
    detail: str = ""


Event = Started | Progress | Finished | Broken
Watch = Callable[[Event], None]


@dataclass(frozen=True, slots=True)
class Summary:
    """Counts of jobs by outcome."""

    total: int
    done: int = 0
    failed: int = 0
    refused: int = 0  # by a user error
    stopped: bool = False  # by Ctrl-C or SIGTERM

    def after(self, event: Event) -> Summary:
        """Return the summary with one more event counted."""
        match event:
            case Finished(record=record) if record.status == "done":
                return replace(self, done=self.done + 1)
            case Broken(kind="user"):
                return replace(self, refused=self.refused + 1)
            case Finished() | Broken():
                return replace(self, failed=self.failed + 1)
        return self

    @property
    def exit_code(self) -> int:
        """130 stopped, 2 a user error, 1 any other failure, 0 all done."""
        return 130 if self.stopped else 2 if self.refused else 1 if self.failed else 0
