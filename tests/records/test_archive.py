"""An archive of records is read as the folder it was made of, or refused in one line."""

import lzma
import shutil
from pathlib import Path

import numpy as np
import pytest

from benchmarks.archive import next_archives, packed
from cseb.commands.run import chosen_benchmark
from cseb.errors import BadResults
from cseb.experiment.grid import Grid
from cseb.records.store import Store
from tests.factory import record, stored
from tests.world import WORLD

ITEMS = {"sts12@1/best": np.linspace(-1, 1, 500, dtype=np.float32), "sts12@1/last": np.zeros(3, dtype=np.float32)}
RECORDS = sorted((record(seed=seed, values=(seed, 2.0, 3.0)) for seed in range(4)), key=lambda record: record.key)


def members(loose: Store) -> list[tuple[str, bytes]]:
    return [
        (path.relative_to(loose.folder).as_posix(), path.read_bytes())
        for path in sorted(loose.folder.rglob("*"))
        if path.is_file()
    ]


@pytest.fixture
def loose(tmp_path: Path) -> Store:
    return stored(tmp_path / "loose", *RECORDS, items=ITEMS)


@pytest.fixture
def archived(loose: Store, tmp_path: Path) -> Store:
    (tmp_path / "archived").mkdir()
    (tmp_path / "archived" / "records.zip").write_bytes(packed(members(loose)))
    return Store(tmp_path / "archived")


@pytest.mark.parametrize("name", ["archived", "several"])
def test_archives_read_as_the_folder_that_they_hold(loose: Store, name: str, request: pytest.FixtureRequest) -> None:
    keys, archived = {record.key for record in RECORDS}, request.getfixturevalue(name)
    assert archived.exists()
    assert archived.keys() == archived.done([*keys, "0" * 16]) == keys
    assert archived.load() == loose.load() == (RECORDS, [])
    for run in RECORDS:
        assert archived.read(run.key) == archived.find(run.key) == run
        assert archived.content(run.key) == loose.content(run.key)
        back = archived.read_items(run.key)
        assert back.keys() == ITEMS.keys()
        assert all((back[name] == ITEMS[name]).all() for name in ITEMS)
    assert archived.find("0" * 16) is None


def test_records_beside_an_archive_count_too_and_it_is_never_changed(archived: Store) -> None:
    before = (archived.folder / "records.zip").read_bytes()
    archived.prepare()
    other = record(seed=9)
    archived.write(other, ITEMS)
    assert len(archived.load()[0]) == 5
    assert archived.read(other.key) == other
    archived.remove(other.key)
    assert archived.keys() == {record.key for record in RECORDS}
    with pytest.raises(BadResults, match="never changed"):
        archived.write(RECORDS[0], ITEMS)
    with pytest.raises(BadResults, match="never changed"):
        archived.remove(RECORDS[0].key)
    assert (archived.folder / "records.zip").read_bytes() == before


def test_a_replaced_archive_is_read_again(loose: Store, archived: Store) -> None:
    assert len(archived.load()[0]) == 4
    kept = [each for each in members(loose) if RECORDS[0].key in each[0]]
    (archived.folder / "records.zip").write_bytes(packed(kept))
    assert archived.load() == ([RECORDS[0]], [])


def test_no_more_is_unpacked_than_is_allowed(archived: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    path = archived.folder / "records.zip"
    compressed = path.rename(path.with_suffix(".zip.xz"))
    compressed.write_bytes(lzma.compress(compressed.read_bytes()))
    assert len(archived.keys()) == 4
    monkeypatch.setattr("cseb.records.archive.UNPACKED", 100)
    compressed.write_bytes(lzma.compress(lzma.decompress(compressed.read_bytes()), preset=0) + b" ")
    with pytest.raises(BadResults, match=r"records\.zip\.xz cannot be read"):
        archived.keys()


def test_a_key_in_both_places_stands_for_one_record_or_is_refused(loose: Store, archived: Store) -> None:
    archived.prepare()
    path = archived.runs / f"{RECORDS[0].key}.json"
    path.write_bytes(loose.content(RECORDS[0].key))
    assert archived.load() == loose.load()
    path.write_bytes(path.read_bytes().replace(b"2.0", b"2.5"))
    for read in (archived.load, lambda: archived.read(RECORDS[0].key)):
        with pytest.raises(BadResults, match="two records under one name; remove the file"):
            read()


def test_items_that_were_left_out_are_said_to_be(loose: Store, archived: Store) -> None:
    (archived.folder / "records.zip").write_bytes(
        packed(each for each in members(loose) if each[0].startswith("runs/"))
    )
    with pytest.raises(BadResults, match=f"records.zip leaves out the items of {RECORDS[0].key}"):
        archived.read_items(RECORDS[0].key)
    assert archived.place(RECORDS[0].key) == (f"{archived.folder / 'records.zip'}, runs/{RECORDS[0].key}.json", "")
    archived.prepare()
    shutil.copy(loose.items / f"{RECORDS[0].key}.npz", archived.items)
    assert archived.read_items(RECORDS[0].key).keys() == ITEMS.keys()


def test_a_job_whose_record_is_archived_is_not_run_again(archived: Store) -> None:
    class Job:
        key = RECORDS[0].key

    jobs: list[object] = [Job()]
    benchmark = chosen_benchmark(WORLD)
    records = {record.key: record for record in archived.load()[0]}
    assert Grid.of(benchmark, jobs, archived, 1, records).todo == []
    with pytest.raises(BadResults, match="1 of the records to replace are in the archive"):
        Grid.of(benchmark, jobs, archived, 1, records, {Job.key})


def test_a_job_whose_archived_record_cannot_be_read_is_refused_before_it_is_trained(archived: Store) -> None:
    class Job:
        key = RECORDS[0].key

    (archived.folder / "records.zip").write_bytes(packed([(f"runs/{Job.key}.json", b'{"format": 1}')]))
    with pytest.raises(BadResults, match="1 of the records to replace are in the archive"):
        Grid.of(chosen_benchmark(WORLD), [Job()], archived, 1, {})


KEY = RECORDS[0].key


def _flipped(content: bytes) -> bytes:
    at = content.index(b".json") + 60  # inside the compressed bytes of the first record
    return content[:at] + bytes([content[at] ^ 0xFF]) + content[at + 1 :]


def _too_large(content: bytes) -> bytes:
    return packed([(f"runs/{KEY}.json", bytes(2**22 + 1))])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda content: b"", "cannot be read: File is not a zip file"),
        (lambda content: b"hello" * 100, "cannot be read: File is not a zip file"),
        (lambda content: content[: len(content) // 2], "cannot be read: File is not a zip file"),
        (_flipped, ".json, cannot be read: "),
        (_too_large, "unpacks to 4194305 bytes, at most 4194304"),
        (lambda content: packed([("notes.txt", b"hello")]), "has the member 'notes.txt'; only runs/KEY.json and items"),
        (lambda content: packed([("runs/../../x.json", b"{}")]), "only runs/KEY.json and items/KEY.npz are allowed"),
    ],
    ids=["empty", "no zip", "cut", "damaged", "too large", "other file", "path"],
)
def test_a_damaged_archive_is_one_line(archived: Store, change: object, message: str) -> None:
    path = archived.folder / "records.zip"
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(BadResults) as error:
        archived.load()
    assert message in str(error.value)


def test_a_member_twice_is_refused(archived: Store) -> None:
    with pytest.warns(UserWarning, match="Duplicate name"):
        content = packed([(f"runs/{KEY}.json", b"{}")] * 2)
    (archived.folder / "records.zip").write_bytes(content)
    with pytest.raises(BadResults, match="has a member twice"):
        archived.load()


@pytest.fixture
def several(loose: Store, tmp_path: Path) -> Store:
    """A folder whose records lie in three archives."""
    stored = members(loose)
    (tmp_path / "several").mkdir()
    for name, keys in (("records.zip", {1, 3}), ("records-2.zip", {0}), ("records-3.zip", {2})):
        own = [each for each in stored if any(RECORDS[place].key in each[0] for place in keys)]
        (tmp_path / "several" / name).write_bytes(packed(own))
    return Store(tmp_path / "several")


def test_a_record_of_several_archives_has_its_place(several: Store) -> None:
    assert several.place(RECORDS[0].key)[0] == f"{several.folder / 'records-2.zip'}, runs/{RECORDS[0].key}.json"
    with pytest.raises(BadResults, match="never changed"):
        several.remove(RECORDS[2].key)


def test_a_member_in_two_archives_is_refused(loose: Store, several: Store) -> None:
    twice = several.folder / "records-2.zip"
    twice.write_bytes((several.folder / "records-3.zip").read_bytes())
    with pytest.raises(BadResults, match=f"records-2.zip and records-3.zip both have items/{RECORDS[2].key}.npz"):
        several.load()
    with pytest.raises(BadResults, match="both have"):
        several.find(RECORDS[0].key)


def test_the_next_archive_replaces_none(several: Store, tmp_path: Path) -> None:
    assert [path.name for path in next_archives(tmp_path)] == ["records.zip.xz", "items.zip"]
    (several.folder / "records-2.zip").rename(several.folder / "records-11.zip")
    (several.folder / "records-old.zip").write_bytes(b"of the user")
    assert next_archives(several.folder)[1].name == "items-12.zip"
    assert len(several.load()[0]) == 4
