"""Records are found by key, by the beginning of a key, or by file."""

import shutil
from pathlib import Path

import pytest

from cseb.errors import BadResults
from cseb.records.store import find
from tests.factory import record, stored

KEYS = ("aa11", "aa22", "bb33")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    store = stored(tmp_path)
    for key in KEYS:
        store.write(record().model_copy(update={"key": key * 4}), {})
    return tmp_path


def test_a_key_its_beginning_and_its_file_are_one_record(folder: Path) -> None:
    key = "bb33" * 4
    for text in (key, "bb", str(folder / "runs" / f"{key}.json")):
        store, result = find(text, folder)
        assert (store.folder, result.key) == (folder, key)


def test_the_record_beside_a_copy_is_not_taken_for_it(folder: Path) -> None:
    shutil.copytree(folder / "runs", folder / "copies")
    with pytest.raises(BadResults, match="is in no folder runs; put it into FOLDER/runs"):
        find(str(folder / "copies" / f"{'aa11' * 4}.json"), folder)


@pytest.mark.parametrize(
    ("text", "said"),
    [("aa", "2 keys in .* begin with aa; give more of it"), ("cc", "has no record 'cc'"), ("x.json", "no such record")],
)
def test_no_record_and_several_are_named(folder: Path, text: str, said: str) -> None:
    with pytest.raises(BadResults, match=said):
        find(text, folder)
