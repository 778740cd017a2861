"""Export the scores of records: result files of other tools, and experiment trackers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from cseb.commands.screen import say
from cseb.errors import BadBenchmark, BadResults
from cseb.progress import counted
from cseb.text import plain, quantity

if TYPE_CHECKING:
    from cseb.launchers.events import Event
    from cseb.records.record import Record

TRACKERS = ("trackio", "wandb", "mlflow", "tensorboard")
FORMATS = ("mteb", "eval-results", *TRACKERS)
ALL = "all"


def export_scores(key: str, results: Path, format: str, to: str, name: str, push: str) -> tuple[str, tuple[str, ...]]:
    """Write the scores of one record, or of all, in a format of `FORMATS`. Return where, and what is left out and why.

    Raises: BadBenchmark, BadResults.
    """
    from cseb.records.store import Store, find

    if push:
        raise BadBenchmark(f"`format` {format} writes no model; leave `push` out")
    if name and format != "mteb":
        raise BadBenchmark("`name` is about mteb's files; give `format` mteb too")
    if format in TRACKERS:
        write, place = _tracking(format, to, results)
    elif not to:
        raise BadBenchmark(f"`format` {format} writes result files into a folder; give `to`")
    else:
        write, place = _writing(format, Path(to), name), to
    records = Store(results).load()[0] if key == ALL else [find(key, results)[1]]
    records.sort(key=lambda record: (record.method, record.subset.size, record.seed))
    left_out: list[str] = []
    failed = 0
    for record in counted(records, "exporting", len(records)):
        try:
            reasons = write(record)
        except BadResults as error:
            if len(records) == 1:
                raise
            failed, reasons = failed + 1, (str(error),)
        left_out += [reason if len(records) == 1 else f"{record.key}: {reason}" for reason in reasons]
    if records and failed == len(records):
        raise BadResults(f"nothing can be written of {quantity(failed, 'record')}; the first: {left_out[0]}")
    return place, tuple(left_out)


def tracked(watch: Callable[[Event], None], tracker: str, results: Path) -> Callable[[Event], None]:
    """Return a watch that sends each finished record to a tracker too; a failure of the tracker ends nothing."""
    from cseb.exchange.trackers import track
    from cseb.launchers.events import Finished

    def hear(event: Event) -> None:
        watch(event)
        if isinstance(event, Finished):
            try:
                track(event.record, tracker, results / "tensorboard")
            except BadResults as error:
                advice = f"cseb export {event.key} --results {results} --format {tracker} tries again"
                say(plain(f"{error}; {advice}"), err=True)

    return hear


def _tracking(tracker: str, to: str, results: Path) -> tuple[Callable[[Record], tuple[str, ...]], str]:
    from cseb.exchange import trackers

    trackers.check(tracker)
    if to and tracker != "tensorboard":
        raise BadBenchmark(f"`to` is for files; the environment variables of {tracker} say where its runs go")
    folder = Path(to) if to else results / "tensorboard"

    def write(record: Record) -> tuple[str, ...]:
        trackers.track(record, tracker, folder)
        return ()

    return write, str(folder) if tracker == "tensorboard" else tracker


def _writing(format: str, to: Path, name: str) -> Callable[[Record], tuple[str, ...]]:
    from cseb.data.files import written
    from cseb.exchange import result_files

    def write(record: Record) -> tuple[str, ...]:
        with written(to):
            return result_files.FORMATS[format](record, to, name)

    return write
