"""`firstD:TASK`: any task on the first D numbers of every vector, as whoever keeps short vectors would use them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from cseb.errors import CsebError
from cseb.tasks.task import Embed, Influence, Items, Loaded, Outcome, Task, Vectors


@dataclass(frozen=True, slots=True, eq=False)
class Narrow:
    """The data of a task, whose encoder shows `width` numbers of its vectors. Vectors are not made length 1 again."""

    inner: Loaded
    width: int

    @property
    def live(self) -> bool:
        """As the task itself: whether it calls the encoder."""
        return bool(getattr(self.inner, "live", False))

    def sentences(self) -> Sequence[str]:
        """Those of the task."""
        return self.inner.sentences()

    def sha256(self) -> str:
        """Of the task's data and the width."""
        return hashlib.sha256(f"{self.width}\0{self.inner.sha256()}".encode()).hexdigest()

    def items(self, embed: Embed) -> Items:
        """Those of the task. Raises: CsebError if vectors are shorter."""

        def narrow(sentences: Sequence[str]) -> Vectors:
            found = embed(sentences)
            if len(found) and found.shape[1] < self.width:
                raise CsebError(
                    f"vectors have {found.shape[1]} numbers, the first {self.width} are asked for; take fewer"
                )
            return found[:, : self.width]

        return self.inner.items(narrow)

    def outcome(self, items: Items) -> Outcome:
        """As of the task."""
        return self.inner.outcome(items)

    def influence(self, items: Items) -> Influence:
        """As of the task."""
        return self.inner.influence(items)

    def clusters(self) -> npt.NDArray[np.int64]:
        """As of the task."""
        return self.inner.clusters()


@dataclass(frozen=True, slots=True)
class FirstNumbers:
    """Another task on the first `width` numbers."""

    width: int
    task: Task

    @property
    def name(self) -> str:
        """As users type it."""
        return f"first{self.width}:{self.task.name}"

    @property
    def version(self) -> int:
        """That of the task."""
        return self.task.version

    @property
    def protocol(self) -> str:
        """The task's, with the width: a column of its own."""
        kind, _, version = self.task.protocol.rpartition("@")
        return f"{kind}(first {self.width} numbers)@{version}"

    def load(self, data_dir: Path | None) -> Narrow:
        """The task's data. Raises: BadData."""
        return Narrow(self.task.load(data_dir), self.width)
