"""The index of a large folder: never a second truth."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cseb.records import store as stores
from cseb.records import summary_index
from cseb.records.record import Cost, Overlap, PackedScores, Record, RecordSummary, Score, TaskScore
from cseb.records.store import Store
from tests.standin_jobs import job, record


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's cache, and folders of three records count as large."""
    monkeypatch.setattr(summary_index, "user_cache_path", lambda _: tmp_path / "cache")
    monkeypatch.setattr(stores, "MANY", 3)
    return tmp_path / "cache" / "records"


def made(place: int, **changes: Any) -> Record:
    """A record like those of a grid, and now and then one that is not."""
    one = record(
        job("simcse" if place % 2 else "micse", place), None if place == 4 else 50.1 + place, seconds=place + 0.3
    )
    if place == 5:
        one = record(job("simcse", place), failed="the loss is nan")
    if place == 6:
        changes = {"overlap": (Overlap(task="mw-mixed@1", texts=9, exact=1, near=2),), **changes}
    cost = Cost(train_seconds=0.1 * place, score_seconds=1.0, peak_rss_mb=2.0, cpu_seconds=place / 3 or None)
    return one.model_copy(update={"key": f"{place:016x}", "cost": cost, **changes})


def write(store: Store, *records: Record) -> None:
    for one in records:
        (store.runs / f"{one.key}.json").write_text(one.model_dump_json(indent=2))


def fresh(store: Store, monkeypatch: pytest.MonkeyPatch) -> list[RecordSummary]:
    """What the files say."""
    with monkeypatch.context() as patch:
        patch.setattr(stores, "MANY", 10**9)
        return store.summaries()[0]


@pytest.fixture
def unread(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of files that were read."""
    names: list[str] = []
    read = stores.read_record
    monkeypatch.setattr(stores, "read_record", lambda path: (names.append(path.name), read(path))[1])
    return names


def test_summaries_of_the_index_are_those_of_the_files(
    store: Store, cache: Path, monkeypatch: pytest.MonkeyPatch, unread: list[str]
) -> None:
    write(store, *map(made, range(8)))
    expected = fresh(store, monkeypatch)
    assert store.summaries() == (expected, [])
    assert len(list(cache.iterdir())) == 1
    del unread[:]
    found, problems = store.summaries()
    assert (found, problems, unread) == (expected, [], [])
    assert [one.model_copy(update={"scores": tuple(one.scores)}).model_dump() for one in found] == [
        one.model_copy(update={"scores": tuple(one.scores)}).model_dump() for one in expected
    ]
    assert found[5].trace is None or found[5].status == "failed"
    assert all(value is None for value in found[4].points("best").values())


def test_what_has_changed_since_is_read_again(
    store: Store, cache: Path, monkeypatch: pytest.MonkeyPatch, unread: list[str]
) -> None:
    write(store, *map(made, range(6)))
    store.summaries()
    changed, gone, new = made(1, benchmark="standin2"), store.runs / f"{2:016x}.json", made(9)
    times = (store.runs / f"{1:016x}.json").stat()
    write(store, changed, new)
    os.utime(store.runs / f"{1:016x}.json", ns=(times.st_atime_ns, times.st_mtime_ns))  # its time says nothing
    gone.unlink()
    (store.runs / f"{3:016x}.json").write_text("{")
    del unread[:]
    found, problems = store.summaries()
    assert unread == [f"{place:016x}.json" for place in (1, 3, 9)]
    assert [int(one.key, 16) for one in found] == [0, 1, 4, 5, 9]
    assert found[1].benchmark == "standin2"
    assert [problem.path.name for problem in problems] == [f"{3:016x}.json"]


@pytest.mark.parametrize("damage", ["cut", "turned", "empty", "folder", "other version"])
def test_a_damaged_index_is_made_anew(
    store: Store, cache: Path, monkeypatch: pytest.MonkeyPatch, unread: list[str], damage: str
) -> None:
    write(store, *map(made, range(5)))
    store.summaries()
    [file] = cache.iterdir()
    held = file.read_bytes()
    match damage:
        case "cut":
            file.write_bytes(held[: len(held) // 2])
        case "turned":
            file.write_bytes(held[:-9] + bytes([held[-9] ^ 1]) + held[-8:])
        case "empty":
            file.write_bytes(b"")
        case "folder":
            file.unlink()
            file.mkdir()
        case "other version":
            monkeypatch.setattr(summary_index, "__version__", "0.0.0")
    del unread[:]
    assert store.summaries()[0] == fresh(store, monkeypatch)
    assert len(unread) == 10
    if damage != "folder":
        del unread[:]
        store.summaries()
        assert unread == []


def test_a_small_folder_has_none_and_nothing_is_ever_left_beside_the_records(store: Store, cache: Path) -> None:
    write(store, made(0), made(1))
    before = sorted(store.folder.rglob("*"))
    store.summaries()
    assert not cache.exists()
    write(store, made(2))
    store.summaries()
    assert cache.exists()
    assert sorted(store.folder.rglob("*")) == sorted([*before, store.runs / f"{2:016x}.json"])


def test_a_cache_that_cannot_be_written_costs_time_alone(store: Store, cache: Path, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("in its way")
    write(store, *map(made, range(4)))
    assert len(store.summaries()[0]) == 4


def test_texts_that_have_no_place_in_a_row_are_read_each_time(
    store: Store, cache: Path, monkeypatch: pytest.MonkeyPatch, unread: list[str]
) -> None:
    odd = made(1)
    odd = odd.model_copy(update={"origin": replace(odd.origin, started="gestern früh")})
    write(store, odd, *map(made, (0, 2, 3, 4)))
    store.summaries()
    del unread[:]
    assert store.summaries()[0][1].origin.started == "gestern früh"
    assert unread == [f"{1:016x}.json"]


def test_packed_scores_are_the_scores() -> None:
    held = made(3).scores
    scores = tuple(TaskScore(task=one.task, protocol=one.protocol, select=one.select, value=one.value) for one in held)
    packed = PackedScores.of(scores)
    assert tuple(packed) == scores
    assert packed == scores
    assert hash(packed) == hash(scores)
    assert packed[-1] == scores[-1]
    assert packed[:1] == scores[:1]
    assert packed != scores[1:]
    assert not PackedScores.of(())
    with pytest.raises(IndexError):
        packed[2]
    best = Score(task="a@1", protocol="p@1", select="best", value=None, detail={}, items=1)
    assert PackedScores.of([best]).points("best") == {"a@1": None}
    assert PackedScores.of([best]).points("last") == {}
