"""Verify records and run them again."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cseb.errors import BadResults
from cseb.progress import tell

if TYPE_CHECKING:
    from cseb.explain.verify import Checked


def verify(results: str | Path = "results", *, data_dir: str | Path = "") -> list[Checked]:
    """Work out every number of every record again from its items and the task files alone.

    Args:
        results: folder of records.
        data_dir: folder of task files; by default that of each record's benchmark.

    Returns:
        One entry for each record: `good`, `figures` (how many), `wrong` and `unknown` (why it cannot be checked).

    Raises:
        BadResults: if there is no such folder.
    """
    from cseb.experiment.load_item_scores import as_it_was_run
    from cseb.explain.verify import verify as verified
    from cseb.records.store import Store

    store, given = Store(Path(results)), str(data_dir)

    def place(name: str) -> str:
        loaded = None if given else as_it_was_run(store.folder, name)
        return loaded.data_dir if loaded else given

    return list(
        verified(store, {name: place(name) for name in {one.benchmark for one in store.load()[0]}} | {"": given})
    )


@dataclass(frozen=True, slots=True)
class Rerun:
    """A job run again. differing: what is not as in the record, and how far. conditions: what else differs here."""

    key: str
    differing: tuple[tuple[str, str], ...]
    conditions: tuple[str, ...]
    items: bool  # whether the record has items, which were compared too
    left_out: int  # how many scores have items that an archive leaves out on purpose

    @property
    def equal(self) -> bool:
        """Whether every score and item came back to the last bit."""
        return not self.differing


def rerun(
    record: str,
    results: str | Path = "results",
    *,
    data_dir: str | Path = "",
    column: str = "",
    trust_remote_code: bool = False,
) -> Rerun:
    """Run the very job of a record again and compare scores and items bit by bit.

    Args:
        record: its key, the beginning of one, or its file.
        results: folder of records.
        data_dir: folder of task files; by default that of the record's benchmark.
        column: the column of the sentences; by default the benchmark's.
        trust_remote_code: run Python code that comes with the encoder.

    Raises:
        CsebError: if the job cannot be run here as it was.
    """
    from cseb.experiment.load_item_scores import as_it_was_run
    from cseb.explain import rerun as again
    from cseb.records.find import find

    store, there = find(record, Path(results))
    loaded = as_it_was_run(store.folder, there.benchmark)
    job = again.job_of(
        there,
        column or (loaded.column if loaded and loaded.corpus == there.corpus.name else ""),
        str(data_dir) or (loaded.data_dir if loaded else ""),
        trust_remote_code,
    )
    try:
        held = store.read_items(there.key)
    except BadResults:
        held = None
    here, items = again.again(job, lambda seen: tell("training, step", seen.step, seen.steps))
    absent = items.keys() - (held or {}) if store.is_archived(there.key) else set()
    differing = tuple(again.compared(here, there, {name: items[name] for name in items.keys() - absent}, held))
    conditions = tuple(again.condition_differences(here, there))
    return Rerun(there.key, differing, conditions, held is not None, len(absent))
