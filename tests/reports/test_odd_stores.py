"""Every command that reads records, on folders that are odd: an answer, or one line and 2; never a traceback."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cseb.records.record import Record
from cseb.records.store import Store
from tests.command_line import call
from tests.factory import record
from tests.stderr_lines import without_progress

BOTH = ("simcse", "micse")


def each(count: int, **options: object) -> list[Record]:
    return [record(method, seed=seed, **options) for method in BOTH for seed in range(count)]  # type: ignore[arg-type]


STORES: dict[str, Callable[[], list[Record]]] = {
    "one": lambda: [record()],
    "all failed": lambda: each(3, failed="boom"),
    "one failed": lambda: [record(failed="x" * 5000), record("micse")],
    "collapsed": lambda: each(5, values=(None,) * 3),
    "identical": lambda: each(5),
    "one task": lambda: each(5, tasks=("sts12@1",), values=(50.0,)),
    "two sizes": lambda: [*each(2), *each(2, size=1000)],
    "no seed in common": lambda: [record(seed=0), record("micse", seed=1)],
    "no size in common": lambda: [record(), record("micse", size=1000)],
    "names": lambda: [record("m" * 3000), record("simcse"), record("")],
    "zero": lambda: each(5, values=(0.0,) * 3),
    "the most": lambda: each(2, values=(1e6, -1e6, 1e6)),
    "no method text": lambda: each(2, resolved=""),
}
COMMANDS: tuple[tuple[str, ...], ...] = (
    ("report",),
    ("report", "--format", "json"),
    ("report", "--table", "tasks"),
    ("report", "--table", "ablation"),
    ("report", "--table", "sensitivity"),
    ("report", "--checkpoint", "both", "--spread", "range"),
    ("report", "--against", "published"),
    ("report", "--mark", "examples"),
    ("compare",),
    ("compare", "--baseline", "all", "--detail", "--format", "json"),
    ("status",),
    ("show", "--verify"),
)


@pytest.mark.parametrize("name", STORES)
def test_odd_folders_are_answered(store: Store, name: str) -> None:
    for one in STORES[name]():
        store.write(one, {})
    keys, folder = sorted(store.keys()), str(store.folder)
    commands = [(command, folder, *rest) for command, *rest in COMMANDS]
    commands += [("show", keys[0], "--results", folder), ("show", folder, folder)]
    commands += [("show", keys[0], other, "--results", folder) for other in (keys[-1], "published")]
    for command in commands:
        found = call(*command)
        assert found.exception is None or isinstance(found.exception, SystemExit), (command, found.exception)
        assert found.exit_code in (0, 1, 2), command
        assert found.exit_code != 2 or len(without_progress(found.stderr)) == 1, (command, found.stderr)
