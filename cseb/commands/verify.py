"""Recompute every number of every record from the per-example scores and the task files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from math import isclose
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cseb.commands.screen import say
from cseb.errors import CsebError, first_line
from cseb.parameters import argument, command
from cseb.progress import counted
from cseb.registry import TASKS
from cseb.text import plain, quantity

if TYPE_CHECKING:
    from cseb.records.items import Items
    from cseb.records.record import Record, Score
    from cseb.records.store import Store
    from cseb.tasks.task import Loaded

ROUNDING = 1e-6  # points: other versions of numpy and scipy sum in another order


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """The result of recomputing one record.

    Attributes:
        key: of the record, or the name of a file that is no record.
        figures: how many numbers were recomputed.
        wrong: what differs, one line each.
        unknown: why the record, or a part of it, cannot be checked, such as missing task files.
        left_out: how many scores have items that an archive leaves out on purpose.
    """

    key: str
    figures: int = 0
    wrong: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    left_out: int = 0

    @property
    def good(self) -> bool:
        """Return whether every number that could be recomputed is equal, and nothing is lost."""
        return not self.wrong and not self.unknown


@command
def verify(
    results: Annotated[str | Path, argument("Folder of records.")] = "results",
) -> list[Checked]:
    """Recompute every number of every record from its per-example scores and the task files.

    A record that cannot be checked is named; the others are still checked. Scores that a packed folder leaves out on
    purpose are counted. Task files are read where the runs had them, or in CSEB_DATA_DIR.

    Returns:
        One entry for each record: `good`, `figures` (how many), `wrong` and `unknown` (why it cannot be checked).

    Raises:
        BadResults: if there is no such folder.
    """
    from cseb.experiment.benchmark import data_folder
    from cseb.records.store import Store
    from cseb.tasks.evaluate import load_task

    store = Store(Path(results))

    folder = cache(partial(data_folder, store.folder))

    @cache  # a task that cannot be loaded is tried once, not for each record
    def load(name: str, place: str) -> Loaded | Exception:
        try:
            return load_task(name, Path(place) if place else None)
        except Exception as error:  # a task of another package may raise anything
            return error

    def loaded(name: str, benchmark: str) -> Loaded:
        task = load(name, folder(benchmark))
        if isinstance(task, Exception):
            raise task
        return task

    records, problems = store.load()
    records = [record for record in records if record.scores or record.purpose == "reported"]  # trials have no scores
    checked = [Checked(key=plain(problem.path.name), wrong=(problem.reason,)) for problem in problems]
    for record in counted(records, "checking records", len(records)):
        checked.append(_recompute(record, store, partial(loaded, benchmark=record.benchmark)))
    return checked


def print_verified(records: list[Checked]) -> None:
    """Print what is wrong or unknown and how much was recomputed; exit with 1 if a record is not good."""
    for record in records:
        for line in record.wrong:
            say(f"BAD {record.key} {line}")
        for line in record.unknown:
            say(f"--  {record.key} cannot be checked: {line}")
    figures = sum(record.figures for record in records)
    good = sum(record.good and (record.figures > 0 or not record.left_out) for record in records)
    unknown = sum(bool(record.unknown) and not record.wrong for record in records)
    aside = f", {unknown} cannot be checked" if unknown else ""
    if left_out := sum(record.left_out for record in records):
        aside += f"; the archive leaves out the items of {quantity(left_out, 'score')}"
    say(f"{good} of {quantity(len(records), 'record')} verified, {quantity(figures, 'figure')} recomputed{aside}")
    raise typer.Exit(0 if all(record.good for record in records) else 1)


def _recompute(record: Record, store: Store, load: Callable[[str], Loaded]) -> Checked:
    """Recompute one record. load: returns the data of a task."""
    if record.status == "failed":
        return Checked(key=record.key, wrong=("a failed job has scores",) if record.scores else ())
    complete = not store.is_archived(record.key)  # an archive may leave items out
    try:
        items = store.read_items(record.key) if complete or store.place(record.key)[1] else {}
    except CsebError as error:
        return Checked(key=record.key, wrong=(f"items: {error}",))
    names = {f"{score.task}/{score.select}": score for score in record.scores}
    wrong = [f"{name}: items without a score" for name in sorted(items.keys() - names.keys())]
    scored = {score.task for score in record.scores}
    wrong += [f"{task}: no score" for task in record.protocol.tasks if task not in scored]
    left_out = set() if complete else names.keys() - items.keys()
    figures, unknown = 0, []
    try:
        wrong += _other_data(record, load)
    except Exception as error:  # a task of another package may raise anything; the other records are checked
        unknown.append(_reason(error))
    for name, score in names.items():
        if name in left_out:
            continue
        try:
            wrong += _differences(score, items, load)
        except Exception as error:
            unknown.append(f"{score.task} {score.select}: {_reason(error)}")
        else:
            figures += 1 + len(score.detail)
    return Checked(
        key=record.key,
        figures=figures,
        wrong=tuple(map(plain, wrong)),
        unknown=tuple(dict.fromkeys(map(plain, unknown))),
        left_out=len(left_out),
    )


def _reason(error: Exception) -> str:
    return str(error) if isinstance(error, CsebError) else f"{type(error).__name__}: {first_line(error)}"


def _differences(score: Score, items: Mapping[str, Items], load: Callable[[str], Loaded]) -> Iterator[str]:
    where = f"{score.task} {score.select}"
    values = items.get(f"{score.task}/{score.select}")
    if values is None:
        yield f"{where}: a score without items"
        return
    name, _, version = score.task.rpartition("@")
    if name in TASKS and str(TASKS[name].version) != version:
        yield f"{where}: today's task is {name}@{TASKS[name].version}, which may score differently"
        return
    if len(values) != score.items:
        yield f"{where}: {quantity(len(values), 'item')}, the record says {score.items}"
    task = load(name)
    try:
        outcome = task.outcome(values)
    except (ValueError, IndexError, TypeError) as error:  # items of another task, or cut off
        yield f"{where}: its items do not fit its task: {error}"
        return
    for figure in ("", *{**outcome.detail, **score.detail}):
        ours, theirs = (each.detail.get(figure) if figure else each.value for each in (outcome, score))
        lost = figure and (figure in outcome.detail) != (figure in score.detail)
        if (
            lost
            or (ours is None) != (theirs is None)
            or not isclose(ours or 0, theirs or 0, rel_tol=0, abs_tol=ROUNDING)
        ):
            shown = ["none" if value is None else f"{value:.6f}" for value in (theirs, ours)]
            yield f"{where}{figure and f', {figure}'}: the record says {shown[0]}, its items give {shown[1]}"


def _other_data(record: Record, load: Callable[[str], Loaded]) -> Iterator[str]:
    """Yield a line if the task files differ from those that the record was scored on."""
    from cseb.records.record import data_sha256

    names = [*record.protocol.tasks, *filter(None, [record.protocol.dev])]
    digest = data_sha256(load(name.rpartition("@")[0]).sha256() for name in names)
    if digest != record.protocol.data:
        yield f"task data: sha256 {digest[:8]} here, {record.protocol.data[:8]} in the record"
