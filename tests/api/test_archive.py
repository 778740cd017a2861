"""Packing folders: what goes in, and what is refused before anything is written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cseb.api.archive import Packed, archive
from cseb.errors import BadResults, BadSpec
from cseb.records.store import Store
from tests.factory import record

BOTH = {"sts12@1/best": np.ones(3, dtype=np.float32), "sts12@1/last": np.zeros(3, dtype=np.float32)}
LAST = {"sts12@1/last": np.zeros(3, dtype=np.float32)}


def folder(path: Path, *records: object, items: object = BOTH) -> Path:
    store = Store(path)
    store.prepare()
    for one in records:
        store.write(one, items)  # type: ignore[arg-type]
    return path


def test_folders_are_packed_together_and_added_to(tmp_path: Path) -> None:
    one, two = (folder(tmp_path / name, record(name), record("msse")) for name in ("simcse", "micse"))
    out = tmp_path / "out"
    assert archive([one], out) == Packed(2, 2, 12, (out / "records.zip").stat().st_size)
    with pytest.raises(BadResults, match=f"has 1 record not in {two}; name {out} among the folders too"):
        archive([two], out)
    archive([out, two], out)
    added = (out / "records.zip").read_bytes()
    assert {each.method for each in Store(out).load()[0]} == {"simcse", "micse", "msse"}
    archive([two, one], out)
    assert (out / "records.zip").read_bytes() == added


def test_items_come_from_whichever_folder_has_them(tmp_path: Path) -> None:
    made = folder(tmp_path / "made", record())
    archive([made], tmp_path / "bare", items="none")
    assert archive([tmp_path / "bare", made], tmp_path / "out").with_items == 1


def test_a_record_with_one_checkpoint_keeps_its_items(tmp_path: Path) -> None:
    made = folder(tmp_path / "made", record("cls"), items=LAST)
    folder(made, record("simcse"))
    archive([made], tmp_path / "out", items=["cls", "simcse"], checkpoint="best")
    store = Store(tmp_path / "out")
    held = {one.method: set(store.read_items(one.key)) for one in store.load()[0]}
    assert held == {"cls": {"sts12@1/last"}, "simcse": {"sts12@1/best"}}


def test_failed_jobs_are_packed_and_have_no_rows(tmp_path: Path) -> None:
    made = folder(tmp_path / "made", record("simcse", failed="the loss is not finite"), items={})
    assert archive([made], tmp_path / "out").scores == 0
    assert [one.status for one in Store(tmp_path / "out").load()[0]] == ["failed"]


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
