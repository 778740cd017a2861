from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from cseb.errors import BadResults
from cseb.methods.grammar import parse_method
from cseb.records.method_text import PartDifference, part_differences, stated, written
from cseb.records.part_data import part_data, read_parts
from cseb.records.record import Record, RecordSummary, Source, Trace
from cseb.records.staleness import stale
from cseb.records.store import ABANDONED, KEY, Store
from cseb.registry import METHODS
from cseb.reports.documents import Group, score_report
from cseb.reports.formats import markdown
from cseb.reports.layouts import few_shot
from tests.factory import grid, record

ITEMS = {"sts12@1/best": np.linspace(-1, 1, 500, dtype=np.float32), "sts12@1/last": np.zeros(3, dtype=np.float32)}
ROOT = Path(__file__).parents[2]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store(tmp_path / "results")
    store.prepare()
    return store


def names(store: Store) -> list[str]:
    return sorted(path.name for place in (store.runs, store.items) for path in place.iterdir())


def test_what_is_written_is_read_back(store: Store) -> None:
    one = record()
    store.write(one, ITEMS)
    assert store.read(one.key) == one
    assert store.load() == ([one], [])
    assert store.keys() == store.done([one.key, "0" * 16]) == {one.key}
    back = store.read_items(one.key)
    assert back.keys() == ITEMS.keys()
    assert all(back[name].dtype == np.float32 and (back[name] == ITEMS[name]).all() for name in ITEMS)


def test_a_record_is_the_same_text_every_time_and_indented(store: Store) -> None:
    one = record()
    store.write(one, {})
    text = (store.runs / f"{one.key}.json").read_text()
    store.write(Record.model_validate_json(text), {})
    assert (store.runs / f"{one.key}.json").read_text() == text
    assert text.startswith('{\n  "format": 1,\n  "key"')
    assert text.endswith("}\n")


def test_removing_takes_both_files(store: Store) -> None:
    one = record()
    store.write(one, ITEMS)
    store.remove(one.key)
    assert names(store) == []


@pytest.mark.parametrize("key", ["", "../../x", "abc", "A" * 16])
def test_only_a_key_names_a_file(store: Store, key: str) -> None:
    with pytest.raises(BadResults, match="sixteen hex digits"):
        store.write(record().model_copy(update={"key": key}), {})


def test_a_record_that_would_not_read_back_is_not_written(store: Store) -> None:
    one = record()
    cost = replace(one.cost)
    object.__setattr__(cost, "train_seconds", float("nan"))  # what it cannot be made with
    broken = one.model_copy(update={"cost": cost})
    with pytest.raises(BadResults, match=r"cost\.train_seconds"):
        store.write(broken, ITEMS)
    assert names(store) == []


# Places that cannot be written


def test_a_missing_parent_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadResults, match="lost is missing"):
        Store(tmp_path / "lost" / "results").prepare()


@pytest.mark.parametrize("below", ["", "results", "results/runs"])
def test_a_file_in_the_way_is_named(tmp_path: Path, below: str) -> None:
    way = tmp_path / "way" / below
    way.parent.mkdir(parents=True, exist_ok=True)
    way.touch()
    with pytest.raises(BadResults, match="a file is in its way"):
        Store(tmp_path / "way" / "results").prepare()


def fail(code: int) -> Any:
    def call(*_: object, **__: object) -> None:
        raise OSError(code, os.strerror(code))

    return call


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EDQUOT])
@pytest.mark.parametrize("call", ["fsync", "mkdir"])
def test_preparing_finds_what_writing_would(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, call: str
) -> None:
    monkeypatch.setattr(os, call, fail(code))
    with pytest.raises(BadResults, match=os.strerror(code)):
        Store(tmp_path / "results").prepare()
    assert not list(tmp_path.rglob("*.tmp"))


def test_space_is_asked_for_only_where_it_is_short(store: Store) -> None:
    (store.runs / f"{record().key}.json").mkdir()
    with pytest.raises(BadResults, match="Is a directory; fix that, or take another folder"):
        store.write(record(), ITEMS)


def test_folders_that_a_killed_export_left_are_removed(store: Store) -> None:
    models = store.folder / "models"
    old, new = models / ".old.tmp", models / ".new.tmp"
    for part in (old, new):
        part.mkdir(parents=True)
        (part / "config.json").touch()
    os.utime(old, (time.time() - 2 * ABANDONED,) * 2)
    store.prepare(models)
    assert list(models.iterdir()) == [new]


@pytest.mark.parametrize("call", ["fsync", "replace"])
@pytest.mark.parametrize("after", [0, 1])
def test_a_full_disk_leaves_no_record_and_no_temporary(
    store: Store, monkeypatch: pytest.MonkeyPatch, call: str, after: int
) -> None:
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
    one = record()
    store.write(one, ITEMS)
    monkeypatch.setattr(os, "replace", fail(errno.ENOSPC))
    with pytest.raises(BadResults):
        store.write(one, {"sts12@1/best": np.ones(2, dtype=np.float32)})
    assert store.read(one.key) == one
    assert store.read_items(one.key).keys() == ITEMS.keys()


def test_only_old_temporaries_are_tidied_away(store: Store) -> None:
    old, young = store.runs / ".a.json.1.tmp", store.items / ".b.npz.2.tmp"
    for path in (old, young):
        path.write_text("{")
    long_ago = time.time() - ABANDONED - 60
    os.utime(old, (long_ago, long_ago))
    assert store.load() == ([], [])
    assert store.keys() == set()
    store.prepare()
    assert names(store) == [young.name]


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


def test_two_processes_killed_at_any_moment_leave_whole_records(store: Store) -> None:
    for wait in (0.0, 0.013):
        before = len(store.keys())
        writers = [write_until_killed(store), write_until_killed(store)]
        give_up = time.monotonic() + 20
        while len(store.keys()) < before + 40 and time.monotonic() < give_up:
            time.sleep(0.01)
            store.load()  # a reader at work sees whole records only
        time.sleep(wait)
        for writer in writers:
            writer.send_signal(signal.SIGKILL)
            writer.wait()
        records, problems = store.load()
        assert problems == []
        assert len(records) >= before + 40
        assert all(len(store.read_items(one.key)["sts12@1/best"]) == 20_000 for one in records)
        for path in store.runs.glob("*.json"):  # so that the second round writes anew
            path.unlink()


# Staleness


def test_todays_versions_are_fresh() -> None:
    assert stale(record()) == ""
    assert stale(record(resolved="queue()@2 recipe()@1"), {"queue": 2}) == ""


@pytest.mark.parametrize(
    ("resolved", "versions", "reason"),
    [
        ("queue(size=3)@1 recipe()@1", {"queue": 2}, "made with queue@1, now queue@2"),
        ("queue(size=3)@3", {"queue": 2}, "made with queue@3, now queue@2"),
        ("""p(t='a) @9 q()@7 "', u="it's (", v=(1, (2, 3)))@1 cls()@1""", {"cls": 1}, ""),
        (r"""p(t='it\'s "(" @2 ')@1 q(u="\"")@2""", {"p": 1}, "made with q@2, now q@1"),
        ("", {"recipe": 2}, ""),
        ("p(a=1)", {}, "the method cannot be read at 'p(a=1)'; it is written name(option=value)@version"),
        ("q()@1 p(a=1)@x", {}, "the method cannot be read at 'p(a=1)@x'; it is written name(option=value)@version"),
        ("p(a=1)@²", {}, "the method cannot be read at 'p(a=1)@²'; it is written name(option=value)@version"),
        ("@1", {}, "the method cannot be read at '@1'; it is written name(option=value)@version"),
        (
            "p)@1 queue()@1",
            {"queue": 2},
            "the method cannot be read at 'p)@1 queue()@1'; it is written name(option=value)@version",
        ),
        (
            "(" * 10_000 + "'" * 10_001,
            {},
            f"the method cannot be read at '{'(' * 57}...'; it is written name(option=value)@version",
        ),
    ],
)
def test_versions_are_read_past_quoted_options(resolved: str, versions: dict[str, int], reason: str) -> None:
    assert stale(record(resolved=resolved), versions) == reason


def test_a_task_of_another_version_is_stale() -> None:
    assert stale(record(tasks=("sts12@2",))) == "made with sts12@2, now sts12@1"
    assert stale(record(), tasks={"sts12": SimpleNamespace(version=2)}) == "made with sts12@1, now sts12@2"
    assert stale(record(tasks=("somebody-elses@7",))) == ""
    assert stale(record(tasks=("sts12",))) == "the version of 'sts12' cannot be read"


def test_every_key_of_a_job_names_a_file() -> None:
    assert KEY.fullmatch(record().key)


def test_summaries_make_the_same_tables_and_lack_what_they_do_not_hold(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.prepare()
    for one in grid():
        store.write(one, {})
    (full, _), (summaries, _) = store.load(), store.summaries()
    ours, theirs = (markdown.write(score_report([Group(tables=[few_shot(held)])])) for held in (summaries, full))
    assert ours == theirs
    assert all(score.detail for one in full for score in one.scores)
    assert not any(hasattr(score, "detail") for one in summaries for score in one.scores)
    assert len({id(one.protocol) for one in summaries}) == 1 < len({id(one.protocol) for one in full})


def test_a_summary_tells_the_length_of_training_and_not_its_course(store: Store) -> None:
    store.write(record().model_copy(update={"trace": Trace(steps=9, best_step=6, curve=((6, 0.5, 61.0),))}), {})
    ([found], _) = store.summaries()
    assert found.trace
    assert (found.trace.steps, found.trace.best_step) == (9, 6)
    assert not hasattr(found.trace, "curve")


@pytest.mark.parametrize("name", sorted(RecordSummary.model_fields.keys() - {"scores", "trace"}))
def test_a_summary_says_what_its_record_says(store: Store, name: str) -> None:
    one = record().model_copy(update={"outside": (Source(name="a file", sha256="0" * 64),), "vary": "init"})
    store.write(one, {})
    ([found], _) = store.summaries()
    assert getattr(found, name) == getattr(one, name)


def test_format_2_holds_the_parts_as_data_and_reads_back_to_the_same_record(store: Store) -> None:
    old = record()
    new = Record.model_validate(dict(old) | {"format": 2, "parts": old.stated()})
    store.write(new, {})
    held = json.loads((store.runs / f"{new.key}.json").read_text())
    assert held["format"] == 2
    assert [one["name"] for one in held["parts"]] == [one.part.name for one in old.stated()]
    assert all(set(one) == {"name", "version", "options"} for one in held["parts"])
    again = store.read(new.key)
    assert again == new
    assert (again.stated(), again.resolved) == (old.stated(), old.resolved)
    assert (stale(again), apart_of(again, old)) == (stale(old), [])


def apart_of(a: Record, b: Record) -> list[PartDifference]:
    return list(part_differences(a.stated(), b.stated()))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"parts": []}, "resolved and parts are two methods"),
        ({"parts": [{"name": "cls", "version": True, "options": {}}]}, "the version of a part"),
        ({"parts": [{"name": "cls", "version": 1}]}, "a part has name, version and options"),
        ({"parts": [{"name": "cls", "version": 1, "options": {"a": {"b": 1}}}]}, "an option is a finite number"),
        ({"parts": "cls()@1"}, "parts are a list"),
        ({"format": 1}, "parts do not belong into format 1"),
    ],
)
def test_parts_that_cannot_be_are_named(store: Store, change: dict[str, object], message: str) -> None:
    old = record()
    store.write(Record.model_validate(dict(old) | {"format": 2, "parts": old.stated()}), {})
    place = store.runs / f"{old.key}.json"
    place.write_text(json.dumps(json.loads(place.read_text()) | change))
    with pytest.raises(BadResults, match=message):
        store.read(old.key)


@pytest.mark.parametrize("name", METHODS.builtin)
def test_the_parts_of_every_method_are_its_text(name: str) -> None:
    """In JSON too: 1 and 1.0, tuples in tuples, words of quotes."""
    method = parse_method(name).at(0.001)
    parts = read_parts(json.loads(json.dumps(part_data(stated(method)))))
    assert (parts, written(parts)) == (stated(method), method.resolved())
