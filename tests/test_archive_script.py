"""Packing folders: what goes in, and what is refused before anything is written."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks.archive import Packed, archive
from cseb.errors import BadResults, BadSpec
from cseb.records.record import Record
from cseb.records.store import Store
from tests.factory import record, stored

BOTH = {"sts12@1/best": np.ones(3, dtype=np.float32), "sts12@1/last": np.zeros(3, dtype=np.float32)}
LAST = {"sts12@1/last": np.zeros(3, dtype=np.float32)}


def folder(path: Path, *records: Record, items: dict[str, np.ndarray] = BOTH) -> Path:
    return stored(path, *records, items=items).folder


PAIR = (("items", ""), ("records", ".xz"))


def size(out: Path, number: str = "") -> int:
    paths = (out / f"{kind}{number}.zip{end}" for kind, end in PAIR)
    return sum(path.stat().st_size for path in paths if path.is_file())


def test_a_record_with_one_checkpoint_keeps_its_items(tmp_path: Path) -> None:
    made = folder(tmp_path / "made", record("cls"), items=LAST)
    folder(made, record("simcse"))
    archive([made], tmp_path / "out", items=["cls", "simcse"], checkpoint="best")
    store = Store(tmp_path / "out")
    contents = {record.method: set(store.read_items(record.key)) for record in store.load()[0]}
    assert contents == {"cls": {"sts12@1/last"}, "simcse": {"sts12@1/best"}}


def test_what_cannot_be_packed_leaves_nothing_behind(tmp_path: Path) -> None:
    made, other = folder(tmp_path / "made", record()), folder(tmp_path / "other", record(values=(1.0, 2.0, 3.0)))
    out = tmp_path / "out"
    with pytest.raises(BadResults, match=f"{made} and {other} have two records"):
        archive([made, other], out)
    with pytest.raises(BadSpec, match="--items: no record of simcs; did you mean simcse"):
        archive([made], out, items="simcs")
    with pytest.raises(BadSpec, match="--select is 'first'"):
        archive([made], out, checkpoint="first")
    with pytest.raises(BadResults, match="no record to pack"):
        archive([folder(tmp_path / "empty")], out)
    with pytest.raises(BadResults, match="no records in "):
        archive([tmp_path / "nowhere"], out)
    (made / "runs" / "notes.txt").write_text("hello")
    with pytest.raises(BadResults, match="an archive is complete or none"):
        archive([made], out)
    assert not out.exists()
    (made / "runs" / "notes.txt").unlink()
    out.write_text("a file")
    with pytest.raises(BadResults, match="cannot be written: "):
        archive([made], out)


def test_records_that_were_run_beside_an_archive_are_added_to_it(tmp_path: Path) -> None:
    out = tmp_path / "out"
    archive(folder(tmp_path / "made", record("simcse")), out)
    folder(out, record("micse"))
    assert archive(out, out) == Packed(1, 1, size(out, "-2"), out / "records-2.zip.xz", 1)
    assert Store(out).is_archived(record("micse").key)
    folder(out, record("msse"))
    archive(folder(tmp_path / "more", record("tsdae")), out)
    assert not Store(out).is_archived(record("msse").key), "it lies in no folder that was named"


def test_another_record_under_an_archived_key_is_refused(tmp_path: Path) -> None:
    made, out = folder(tmp_path / "made", record("simcse")), tmp_path / "out"
    archive(made, out)
    other = folder(tmp_path / "other", record("simcse", values=(1.0, 2.0, 3.0)), record("micse"))
    before = {path: path.read_bytes() for path in out.iterdir()}
    with pytest.raises(BadResults) as error:
        archive(other, out)
    assert f"{other} and {out}/records.zip.xz have two records {record('simcse').key}; " in str(error.value)
    assert {path: path.read_bytes() for path in out.iterdir()} == before
