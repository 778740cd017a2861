"""Scores of anything that embeds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from cseb.commands.arguments import joined
from cseb.errors import BadSpec, one_of
from cseb.progress import tell

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd

    from cseb.embedders.interface import Embedder, EncoderOptions
    from cseb.records.record import Record, Score


@runtime_checkable
class Encodes(Protocol):
    """Such as a TrainedEncoder or a SentenceTransformer."""

    def encode(self, sentences: list[str], /) -> npt.ArrayLike:
        """N sentences to N vectors."""


@dataclass(frozen=True, eq=False)
class Scores(Mapping[str, float | None]):
    """Scores by task, in the order asked for; None for a task that has none.

    STS tasks: 100 x Spearman's correlation; what other tasks measure, `measured` says. failed: why a task has no score.
    record: what is stored of the evaluation, None if no task has a score. stored: the folder it was written to, if any.
    """

    tasks: tuple[str, ...]
    record: Record | None
    failed: Mapping[str, str] = field(default_factory=dict)
    stored: Path | None = None
    reused: bool = False
    cache: str = ""

    def __getitem__(self, task: str) -> float | None:
        if task not in self.tasks:
            raise KeyError(task)
        found = self._found.get(task)
        return None if found is None else found.value

    def __iter__(self) -> Iterator[str]:
        return iter(self.tasks)

    def __len__(self) -> int:
        return len(self.tasks)

    @property
    def measured(self) -> dict[str, str]:
        """Task to the name of what its score measures."""
        return {task: score.protocol for task, score in self._found.items()}

    @property
    def average(self) -> float | None:
        """The mean of the scores rounded to two digits, as SentEval's users do it.

        None if one is missing, or if tasks are measured in different ways.
        """
        known = [round(value, 2) for value in self.values() if value is not None]
        alike = len(set(self.measured.values())) == 1
        return fmean(known) if alike and len(known) == len(self.tasks) else None

    def frame(self) -> pd.DataFrame:
        """One row for each task: task, score (NaN without one), protocol, items, failed."""
        import pandas as pd

        rows = [
            {
                "task": task,
                "score": self[task],
                "protocol": self.measured.get(task, ""),
                "items": self._found[task].items if task in self._found else 0,
                "failed": self.failed.get(task, ""),
            }
            for task in self.tasks
        ]
        return pd.DataFrame(rows).astype({"score": float})

    def __str__(self) -> str:
        """One column for each task, and their average."""
        from cseb.reports.text_table import aligned

        shown = ["failed" if value is None else f"{value:.2f}" for value in self.values()]
        average = "--" if self.average is None else f"{self.average:.2f}"
        return "\n".join(aligned([[*self.tasks, "Avg."], [*shown, average]]))

    def __repr__(self) -> str:
        return f"Scores({dict(self)!r})"

    @property
    def _found(self) -> dict[str, Score]:
        return {one.task.partition("@")[0]: one for one in self.record.scores} if self.record else {}


def evaluate(
    encoder: str | Encodes | Callable[[list[str]], Any],
    tasks: str | Sequence[str] = "sts",
    data_dir: str | Path = "",
    *,
    pooler: str = "",
    dtype: str = "fp32",
    device: str = "auto",
    threads: int = 1,
    linear: str = "auto",
    results: str | Path | None = None,
    models: str | Path = "results",
    cache: str | Path | None = None,
    fresh: bool = False,
    trust_remote_code: bool = False,
) -> Scores:
    """Score an encoder as it stands; nothing is trained.

    Args:
        encoder: a name as in `cseb eval` (a folder, a hub name, ``st:FOLDER``, ``glove:FILE``, ``words:tf-idf``,
            ``cseb-tiny``, ``cseb-mini``, the key of a run whose model was saved or its first four characters or more),
            what `cseb.train` returns, any object with ``encode``, or any function from a list of strings to an
            array (N, D).
        tasks: such as ``sts``, ``["stsb", "sickr"]`` or a file of your own pairs.
        data_dir: folder of task files in SentEval's layout.
        pooler: of an encoder by name, such as ``mean``; without it its own files decide, else ``cls``.
        dtype: ``fp32``, or ``bf16``: faster on some machines, second decimals move.
        device: ``auto``, ``cpu`` or ``cuda``, for an encoder by name.
        threads: CPU threads of torch.
        linear: library of the linear layers on a CPU: ``blas``, ``onednn``, or ``auto``, the faster one here.
        results: folder to keep the record in; by default none is kept.
        models: folder of results whose ``models`` are known by the keys of their runs.
        cache: folder that keeps sentence vectors for other tasks.
        fresh: score again what has a record in `results`.
        trust_remote_code: run Python code that comes with the encoder.

    Returns:
        Scores by task; a task whose data are missing, or that fails, is named in `Scores.failed`.

    Raises:
        CsebError: for what concerns the encoder as a whole.

    Examples:
        >>> import cseb, numpy
        >>> scores = cseb.evaluate(lambda texts: numpy.array([[len(text), 1] for text in texts]), tasks="mw-dev")
        >>> list(scores)
        ['mw-dev']
        >>> scores.failed
        {}
    """
    tell("loading PyTorch")
    from cseb.api.encoders import arithmetic
    from cseb.api.hosts import device_of
    from cseb.embedders.interface import EncoderOptions
    from cseb.experiment.evaluate import evaluate as score
    from cseb.records.store import Store

    one_of(("fp32", "bf16"), dtype, "--dtype")
    how = EncoderOptions(
        pooler=pooler,
        dtype=dtype,
        device=device_of(device),
        trust_remote_code=trust_remote_code,
        results=Path(models if results is None else results),
    )
    store = None if results is None else Store(Path(results))
    if store is not None:
        store.prepare()
    with arithmetic(threads, linear, how.device) as library:
        found = score(
            embedder_of(encoder, how),
            how,
            joined(tasks),
            str(data_dir),
            store,
            threads=threads,
            linear=library,
            cache=None if cache is None else Path(cache),
            fresh=fresh,
        )
    stored = store.folder if store is not None else None
    return Scores(found.tasks, found.record, dict(found.failed), stored, found.reused, found.cache)


def embedder_of(encoder: str | Encodes | Callable[[list[str]], Any], how: EncoderOptions) -> Embedder:
    """Whatever `evaluate` takes, under one contract. Raises: CsebError."""
    from cseb.embedders import find, functions

    if isinstance(encoder, str | Path):
        return find(str(encoder), how)
    if how.pooler or how.dtype != "fp32":
        asked = f"pooler {how.pooler!r}" if how.pooler else f"dtype {how.dtype!r}"
        raise BadSpec(f"an object gives whole vectors of its own, so {asked} has no meaning for it; leave it out")
    name = getattr(encoder, "method", "") or getattr(encoder, "__name__", "") or type(encoder).__name__
    if isinstance(encoder, Encodes):
        return functions.embedder(encoder.encode, str(name))
    if callable(encoder):
        return functions.embedder(encoder, str(name))
    raise BadSpec(
        f"a {type(encoder).__name__} cannot be evaluated; give a name, an object with encode, or a function of a list"
        " of strings"
    )
