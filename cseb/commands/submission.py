"""Pack records so that others can check them, and check what others have packed."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from random import SystemRandom
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from cseb.commands.command_line import Call
from cseb.commands.screen import say
from cseb.errors import BadData, BadResults, CsebError
from cseb.parameters import argument, command, option
from cseb.progress import counted, tell
from cseb.text import plain, quantity

if TYPE_CHECKING:
    from cseb.records.record import Record
    from cseb.records.store import Store
    from cseb.tasks.task import Loaded

REFUSED, CLAIMED, RECOMPUTED, WITHIN, EQUAL = BADGES = (
    "refused", "claimed", "recomputed", "rerun within tolerance", "rerun equal",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Badge:
    """How far a record of a submission has been checked.

    Attributes:
        record: the record.
        badge: refused, claimed, recomputed, rerun within tolerance or rerun equal.
        reasons: why it is refused, or was not checked further.
    """

    record: Record
    badge: str
    reasons: tuple[str, ...] = ()


@command
def submit(
    results: Annotated[str | Path, argument("Folder of records.")] = "results",
    *,
    to: Annotated[str | Path, option("File to write, such as mine.zip.")],
) -> int:
    """Pack records, scores per example and benchmarks into one file that others check with `cseb receive`.

    Every number is recomputed first, as by `cseb show RESULTS --verify`.

    Returns:
        The number of records.

    Raises:
        BadResults: if there are no records, a number differs or cannot be checked, or the file cannot be written.
    """
    from cseb.commands.verify import verify
    from cseb.experiment import benchmark as benchmarks
    from cseb.experiment.benchmark import stored_benchmark
    from cseb.records.items import items_bytes
    from cseb.records.store import Store
    from cseb.records.submission import pack

    store = Store(Path(results))
    for checked in verify(results):
        if not checked.good:
            raise BadResults(
                f"{checked.key}: {(checked.wrong + checked.unknown)[0]}; only records that can be recomputed are "
                "submitted, cseb show RESULTS --verify lists the others"
            )
    records = store.load()[0]
    if not records:
        raise BadResults(f"{plain(str(results))} has no records to submit")

    def members() -> Iterator[tuple[str, bytes]]:
        for name in sorted({record.benchmark for record in records}):
            if (benchmark := stored_benchmark(store.folder, name)) is not None:
                yield f"benchmark-{name}.yaml", benchmarks.text(benchmark.model_copy(update={"data_dir": ""})).encode()
        for record in counted(records, "packing records", len(records)):
            yield f"runs/{record.key}.json", store.content(record.key)
            if store.place(record.key)[1]:
                yield f"items/{record.key}.npz", items_bytes(store.read_items(record.key))

    pack(Path(to), members())
    return len(records)


@command
def receive(
    archive: Annotated[str | Path, argument("File that `cseb submit` wrote.")],
    *,
    reruns: Annotated[int, option("Jobs to repeat, drawn by lot among those that can be.")] = 0,
    to: Annotated[str | Path, option("New folder for the records, if none is refused.")] = "",
) -> list[Badge]:
    """Check a submission of somebody else: recompute every number, and repeat jobs drawn by lot.

    The file may be hostile: it is bounded, and nothing in it is executed or decides where files are read or written.
    Only tasks and parts that are installed here are used.

    Returns:
        The badge of each record.

    Raises:
        BadResults: if the file is refused as a whole, or the folder exists already or cannot be written.
    """
    from cseb.data.files import written
    from cseb.records.store import Store
    from cseb.records.submission import unpack

    if to and Path(to).exists():
        raise BadResults(f"{to} exists already; name a new folder, or remove it")
    with TemporaryDirectory(prefix="cseb-received-") as place:
        store = Store(Path(place, "results"))
        unpack(Path(archive), store.folder)
        _check_benchmarks(store.folder)
        records, problems = store.load()
        if problems:
            raise BadResults(f"{plain(str(archive))}: {problems[0].path.name}: {problems[0].reason}; it is refused")
        load = loader_of_installed()
        badges = [_badge(record, store, load) for record in counted(records, "checking records", len(records))]
        allowed = [number for number, badge in enumerate(badges) if badge.badge == RECOMPUTED]
        for number in SystemRandom().sample(allowed, min(reruns, len(allowed))):
            badges[number] = _rerun(badges[number], store.folder)
        if to and all(badge.badge != REFUSED for badge in badges):
            with written(to):
                shutil.copytree(store.folder, to)
    return badges


def print_submitted(call: Call[int]) -> None:
    """Print what was written."""
    say(f"{quantity(call(), 'record')} written to {plain(str(call.settings['to']))}")


def print_badges(call: Call[list[Badge]]) -> None:
    """Print the badge of each record; exit with 1 if one is refused."""
    from cseb.text import aligned

    badges = call()
    rows = [
        (
            badge.record.key,
            plain(badge.record.method),
            str(badge.record.subset.size),
            str(badge.record.seed),
            badge.badge,
        )
        for badge in badges
    ]
    for line in aligned([("record", "method", "sentences", "seed", "badge"), *rows]):
        say(line)
    for badge in badges:
        for reason in badge.reasons:
            say(f"{badge.record.key} {badge.badge}: {reason}")
    counts = {name: sum(badge.badge == name for badge in badges) for name in reversed(BADGES)}
    say(", ".join(f"{count} {name}" for name, count in counts.items() if count))
    raise typer.Exit(1 if counts[REFUSED] else 0)


def _check_benchmarks(folder: Path) -> None:
    """Raise BadResults for a file that is no benchmark, or names a folder of this machine."""
    from cseb.experiment import benchmark as benchmarks

    for path in sorted(folder.glob("*.yaml")):
        try:
            data_dir = benchmarks.load(str(path)).data_dir
        except CsebError as error:
            raise BadResults(
                f"{path.name} is no benchmark: {plain(str(error)).replace(str(path), path.name)}"
            ) from None
        if data_dir:
            raise BadResults(f"{path.name} has the field data_dir, which cseb submit leaves out; it is refused")


def loader_of_installed() -> Callable[[str], Loaded]:
    """Return a function that loads an installed task by its name and raises BadData for any other, such as a file."""
    from cseb.experiment.benchmark import data_folder
    from cseb.registry import TASKS
    from cseb.tasks.evaluate import load_task
    from cseb.tasks.names import VARIANT

    folder = data_folder(Path())

    @cache
    def load(name: str) -> Loaded:
        match = VARIANT.fullmatch(name)
        if (match[5] if match else name) not in TASKS:
            raise BadData(f"{plain(name)} is no installed task, so that its scores are not recomputed")
        return load_task(name, Path(folder) if folder else None)

    return load


def _badge(record: Record, store: Store, load: Callable[[str], Loaded]) -> Badge:
    """Return the badge of a record without repeating its job."""
    from cseb.analysis.comparable import stale
    from cseb.commands.rerun import key_of
    from cseb.commands.verify import recompute

    checked = recompute(record, store, load, complete=False)
    if checked.wrong:
        return Badge(record, REFUSED, checked.wrong)
    if checked.left_out or not (checked.figures or checked.unknown):
        return Badge(record, CLAIMED, (f"{quantity(checked.left_out, 'score')} without outcomes for each example",))
    try:
        if not (old := stale(record)) and (key := key_of(record)) != record.key:
            return Badge(record, REFUSED, (f"its key does not belong to its content, whose key is {key}",))
    except CsebError as error:
        return Badge(record, CLAIMED, (plain(str(error)),))
    if checked.unknown:
        return Badge(record, CLAIMED, checked.unknown)
    return Badge(record, RECOMPUTED, (f"cannot be rerun: {old}",) if old else ())


def _rerun(badge: Badge, folder: Path) -> Badge:
    """Return the badge after a repetition of the job; the same with a reason if it cannot be repeated here."""
    from cseb.commands.rerun import TOLERANCE, rerun

    tell(f"repeating {badge.record.key}")
    try:
        result = rerun(badge.record.key, folder)
    except CsebError as error:
        return replace(badge, reasons=(f"cannot be rerun: {plain(str(error))}",))
    if result.equal:
        return replace(badge, badge=EQUAL)
    differences = tuple(f"{what}: {difference}" for what, difference in result.differing)
    if result.passed:
        return replace(badge, badge=WITHIN, reasons=(f"every score differs by at most {TOLERANCE}",))
    return replace(badge, badge=REFUSED, reasons=differences)
