"""Folders of records that cannot be written, and what killed processes leave in them."""

import errno
import os
import time
from pathlib import Path

import pytest

from cseb.data.files import ABANDONED, hide
from cseb.errors import BadResults
from cseb.records.store import Store
from tests.records.test_store import fail, names


def test_a_missing_parent_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadResults, match="lost is missing"):
        Store(tmp_path / "lost" / "results").prepare()


@pytest.mark.parametrize("below", ["", "results", "results/runs"])
def test_a_file_in_the_way_is_named(tmp_path: Path, below: str) -> None:
    way = tmp_path / "way" / below
    way.parent.mkdir(parents=True, exist_ok=True)
    way.touch()
    with pytest.raises(BadResults, match="the path or a parent is a file"):
        Store(tmp_path / "way" / "results").prepare()


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EDQUOT])
@pytest.mark.parametrize("call", ["fsync", "mkdir"])
def test_preparing_finds_full_disks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, call: str) -> None:
    monkeypatch.setattr(os, call, fail(code))
    with pytest.raises(BadResults, match=os.strerror(code)):
        Store(tmp_path / "results").prepare()
    assert not list(tmp_path.rglob("*.tmp"))


def test_folders_that_a_killed_export_left_are_removed(store: Store) -> None:
    models = store.folder / "models"
    old, new = models / ".old.tmp", models / ".new.tmp"
    for part in (old, new):
        part.mkdir(parents=True)
        (part / "config.json").touch()
    os.utime(old, (time.time() - 2 * ABANDONED,) * 2)
    store.prepare(models)
    assert list(models.iterdir()) == [new]


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


def test_files_of_this_machine_are_ignored_and_records_are_not(tmp_path: Path) -> None:
    hide(tmp_path)
    lines = (tmp_path / ".gitignore").read_text("utf-8").splitlines()
    assert {"/plan-*.tsv", "/running/", "/slurm/"} <= set(lines)
    assert not [line for line in lines if line.startswith(("/runs", "/items", "/models"))]
    (tmp_path / ".gitignore").write_text("mine\n")
    hide(tmp_path)
    assert (tmp_path / ".gitignore").read_text() == "mine\n"
