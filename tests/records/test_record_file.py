"""Files that are records, and whatever else may lie among them: a record, or one line that says why it is none."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cseb.errors import BadResults, CsebError
from cseb.records.store import Store
from cseb.reports.documents import score_grid
from cseb.reports.formats import FORMATS
from cseb.reports.layouts import few_shot
from tests.factory import record


def test_a_truncated_record_is_run_again(store: Store) -> None:
    whole, torn, failed = record(seed=0), record(seed=1), record(seed=2, failed="out of memory")
    for each in (whole, torn, failed):
        store.write(each, {})
    path = store.runs / f"{torn.key}.json"
    path.write_bytes(path.read_bytes()[:-40])
    keys = [each.key for each in (whole, torn, failed)]
    assert store.keys() == set(keys)
    assert store.done(keys) == {whole.key, failed.key}
    with pytest.raises(BadResults, match="not a record"):
        store.read(torn.key)


def test_what_older_records_lack_is_read_back(store: Store) -> None:
    origin = replace(record().origin, deterministic=True)
    run = record().model_copy(update={"purpose": "tuning", "origin": origin})
    store.write(run, {})
    assert store.read(run.key) == run


def test_what_is_not_a_record_is_named_with_its_reason(store: Store) -> None:
    run = record()
    store.write(run, {})
    text = (store.runs / f"{run.key}.json").read_text()
    newer = text.replace('"format": 2', '"format": 3, "novelty": true')
    files: dict[str, tuple[bytes, str]] = {
        "a" * 16 + ".json": (b"", "not a record: Invalid JSON"),
        "b" * 16 + ".json": (b"\xff\xfe\x00", "not a record"),
        "c" * 16 + ".json": (newer.encode(), "format 3; this version of cseb reads format 2"),
        "d" * 16 + ".json": (text.encode(), f"contains the record '{run.key}'"),
        "e" * 16 + ".json": (text.replace('"seed": 0', '"seed": "0"').encode(), "seed: "),
        "f" * 16 + ".json": (text.replace('"seed": 0', '"seed": 0, "\\u001b[31m": 1').encode(), "[31m"),
        "notes.txt": (b"remember the milk", "not a record"),
    }
    for name, (content, _) in files.items():
        (store.runs / name).write_bytes(content)
    (store.runs / ("0" * 16 + ".json")).mkdir()
    os.mkfifo(store.runs / ("1" * 16 + ".json"))
    (store.runs / ".DS_Store").write_bytes(b"x")
    records, problems = store.load()
    assert records == [run]
    reasons = {problem.path.name: problem.reason for problem in problems}
    assert reasons.keys() == {*files, "0" * 16 + ".json", "1" * 16 + ".json"}
    for name in ("0" * 16 + ".json", "1" * 16 + ".json"):
        assert reasons[name].endswith("; a regular file is needed")
    for name, (_, reason) in files.items():
        assert reason in reasons[name]
        assert reasons[name].isprintable()
    assert store.done(reasons) == set()


def test_a_folder_without_records_is_an_error(tmp_path: Path) -> None:
    for call in (Store(tmp_path).load, Store(tmp_path).keys):
        with pytest.raises(BadResults, match="no records in"):
            call()
    with pytest.raises(BadResults, match=r"it has no folder runs; name a folder cseb has written"):
        Store(tmp_path).load()
    Store(tmp_path / "second").prepare()
    with pytest.raises(BadResults, match=r"no folder runs; name second below it"):
        Store(tmp_path).load()
    with pytest.raises(BadResults, match="No such file or directory"):
        Store(tmp_path / "none").load()


FUZZ = settings(max_examples=100)


def survives(store: Store, content: bytes) -> None:
    """Whatever lies in the folder, reading and reporting end in a table or in one line."""
    for path in store.runs.iterdir():
        path.unlink()
    (store.runs / f"{record().key}.json").write_bytes(content)
    records, problems = store.load()
    assert len(records) + len(problems) == 1
    assert all(problem.reason and problem.reason.isprintable() for problem in problems)
    assert store.done([record().key]) == {record.key for record in records}
    try:
        table = few_shot([*records, record(seed=1)], problems)
    except CsebError:
        return
    assert all(form.write([score_grid(table)]) for form in FORMATS.values())


@FUZZ
@given(data=st.data())
def test_no_flipped_byte_raises(store: Store, data: st.DataObject) -> None:
    content = bytearray(record().model_dump_json(indent=2).encode())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    survives(store, bytes(content[: data.draw(st.integers(0, len(content)))]))


class Evil:
    """Makes a folder when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.path),)


def test_items_are_never_unpickled(store: Store) -> None:
    run = record()
    np.savez(store.items / f"{run.key}.npz", evil=np.array([Evil(store.folder / "pwned")], dtype=object))
    with pytest.raises(BadResults, match="cannot be read"):
        store.read_items(run.key)
    assert not (store.folder / "pwned").exists()
