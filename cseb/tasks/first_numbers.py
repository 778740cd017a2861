"""`firstD:TASK`: any task on the first D numbers of every vector, as for embeddings that are stored truncated."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cseb.errors import CsebError
from cseb.tasks.task import Embed, Items, Loaded, Task, Vectors, calls_encoder


class Narrow:
    """The data of a task, scored on the first `width` numbers of each vector; vectors are not normalised again."""

    def __init__(self, inner: Loaded, width: int) -> None:
        self.inner, self.width, self.calls_encoder = inner, width, calls_encoder(inner)
        self.sentences, self.outcome = inner.sentences, inner.outcome
        self.influence, self.clusters = inner.influence, inner.clusters

    def sha256(self) -> str:
        return hashlib.sha256(f"{self.width}\0{self.inner.sha256()}".encode()).hexdigest()

    def items(self, embed: Embed) -> Items:
        def truncated(sentences: Sequence[str]) -> Vectors:
            vectors = embed(sentences)
            if len(vectors) and vectors.shape[1] < self.width:
                raise CsebError(
                    f"vectors have {vectors.shape[1]} numbers, fewer than {self.width}; use a smaller number"
                )
            return vectors[:, : self.width]

        return self.inner.items(truncated)


@dataclass(frozen=True, slots=True)
class FirstNumbers:
    """Another task on the first `width` numbers of every vector."""

    width: int
    task: Task

    @property
    def name(self) -> str:
        return f"first{self.width}:{self.task.name}"

    @property
    def version(self) -> int:
        return self.task.version

    @property
    def protocol(self) -> str:
        kind, _, version = self.task.protocol.rpartition("@")
        return f"{kind}(first {self.width} numbers)@{version}"

    def load(self, data_dir: Path | None) -> Loaded:
        return Narrow(self.task.load(data_dir), self.width)
