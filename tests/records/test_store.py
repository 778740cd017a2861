import errno
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cseb.errors import BadResults
from cseb.records.record import Record
from cseb.records.store import Store
from tests.factory import record

ITEMS = {"sts12@1/best": np.linspace(-1, 1, 500, dtype=np.float32), "sts12@1/last": np.zeros(3, dtype=np.float32)}
ROOT = Path(__file__).parents[2]


def names(store: Store) -> list[str]:
    return sorted(path.name for place in (store.runs, store.items) for path in place.iterdir())


def test_what_is_written_is_read_back(store: Store) -> None:
    run = record()
    store.write(run, ITEMS)
    assert store.read(run.key) == run
    assert store.load() == ([run], [])
    assert store.keys() == store.done([run.key, "0" * 16]) == {run.key}
    back = store.read_items(run.key)
    assert back.keys() == ITEMS.keys()
    assert all(back[name].dtype == np.float32 and (back[name] == ITEMS[name]).all() for name in ITEMS)


def test_a_record_without_items_leaves_none_of_an_earlier_one(store: Store) -> None:
    run = record("simcse", seed=3)
    store.write(run, ITEMS)
    store.write(record("simcse", seed=3, failed="the loss is not finite"), {})
    assert names(store) == [f"{run.key}.json"] and store.read(run.key).status == "failed"


def test_a_record_is_the_same_text_every_time_and_indented(store: Store) -> None:
    run = record()
    store.write(run, {})
    text = (store.runs / f"{run.key}.json").read_text()
    store.write(Record.model_validate_json(text), {})
    assert (store.runs / f"{run.key}.json").read_text() == text
    assert text.startswith('{\n  "format": 2,\n  "key"')
    assert text.endswith("}\n")


def test_removing_takes_both_files(store: Store) -> None:
    run = record()
    store.write(run, ITEMS)
    store.remove(run.key)
    assert names(store) == []


def test_a_record_is_removed_before_its_items(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    run, removed = record(), []
    store.write(run, ITEMS)
    monkeypatch.setattr(Path, "unlink", lambda path, **_: removed.append(path.suffix))
    store.remove(run.key)
    assert removed == [".json", ".npz"]


def test_only_a_file_named_by_a_key_is_counted(store: Store) -> None:
    store.write(record(), {})
    (store.runs / "notes.json").write_text("{}")
    assert store.keys() == {record().key}


@pytest.mark.parametrize("key", ["", "../../x", "abc", "A" * 16])
def test_only_a_key_names_a_file(store: Store, key: str) -> None:
    with pytest.raises(BadResults, match="sixteen hex digits"):
        store.write(record().model_copy(update={"key": key}), {})


def test_a_record_that_would_not_read_back_is_not_written(store: Store) -> None:
    run = record()
    cost = replace(run.cost)
    object.__setattr__(cost, "train_seconds", float("nan"))  # what it cannot be made with
    broken = run.model_copy(update={"cost": cost})
    with pytest.raises(BadResults, match=r"cost\.train_seconds"):
        store.write(broken, ITEMS)
    assert names(store) == []


# A disk that is full


def fail(code: int) -> Any:
    def call(*_: object, **__: object) -> None:
        raise OSError(code, os.strerror(code))

    return call


@pytest.mark.parametrize("call", ["fsync", "replace"])
@pytest.mark.parametrize("after", [0, 1])
def test_a_full_disk_leaves_no_file(store: Store, monkeypatch: pytest.MonkeyPatch, call: str, after: int) -> None:
    real, calls = getattr(os, call), []

    def full(*args: Any) -> Any:
        calls.append(args)
        return real(*args) if len(calls) <= after else fail(errno.ENOSPC)()

    monkeypatch.setattr(os, call, full)
    with pytest.raises(BadResults, match="No space left"):
        store.write(record(), ITEMS)
    assert store.keys() == set()
    assert names(store) == ([f"{record().key}.npz"] if (call, after) == ("replace", 1) else [])


def test_a_failed_rewrite_keeps_what_was_there(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    run = record()
    store.write(run, ITEMS)
    monkeypatch.setattr(os, "replace", fail(errno.ENOSPC))
    with pytest.raises(BadResults):
        store.write(run, {"sts12@1/best": np.ones(2, dtype=np.float32)})
    assert store.read(run.key) == run
    assert store.read_items(run.key).keys() == ITEMS.keys()


# Processes that are killed

WRITER = """
import os, signal, sys
from pathlib import Path
import numpy as np
from cseb.records.store import Store
from tests.factory import record

store, call, left = Store(Path(sys.argv[1])), sys.argv[2], int(sys.argv[3])
if call:
    real = getattr(os, call)
    def deadly(*args):
        global left
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*args)
    setattr(os, call, deadly)
items = {"sts12@1/best": np.zeros(20_000, dtype=np.float32)}
seed = 0
while True:
    store.write(record(seed=seed), items)
    seed += 1
"""


def write_until_killed(store: Store, call: str = "", left: int = 0) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", WRITER, str(store.folder), call, str(left)]
    return subprocess.Popen(command, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)})


@pytest.mark.parametrize(
    ("call", "left", "whole"), [("fsync", 0, 0), ("fsync", 1, 0), ("replace", 0, 0), ("replace", 1, 0)]
)
def test_a_process_killed_inside_a_write_leaves_no_record(store: Store, call: str, left: int, whole: int) -> None:
    assert write_until_killed(store, call, left).wait(timeout=30) == -signal.SIGKILL
    assert store.keys() == set()
    assert store.load() == ([], [])
    store.write(record(seed=0), ITEMS)
    assert store.done([record(seed=0).key]) == {record(seed=0).key}


def test_a_link_among_the_records_stops_no_run(store: Store, tmp_path: Path) -> None:
    """One that is old and called like a half-written file is removed, and what it names stays."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/file").write_text("mine")
    store.prepare()
    for number, target in enumerate((tmp_path / "mine", tmp_path / "nothing", store.runs / ".1.tmp")):
        link = store.runs / f".{number}.tmp"
        link.symlink_to(target)
        os.utime(link, (0, 0), follow_symlinks=False)
    (store.runs / "0123456789abcdef.json").symlink_to(tmp_path / "nothing")
    (store.runs / "folder.json").symlink_to(tmp_path / "mine")
    store.prepare()
    assert (tmp_path / "mine/file").read_text() == "mine"
    assert not list(store.runs.glob(".*.tmp"))
    records, problems = store.load()
    assert not records
    assert len(problems) == 2
