"""Real English that comes with cseb: its files are the ones that were checked, and names work as typed."""

import gzip
import hashlib
import json
import shutil
from pathlib import Path

import pytest

from cseb import open_data
from cseb.data.corpus import read_corpus
from cseb.errors import BadData

FILES = json.loads((open_data.FOLDER / "files.json").read_text())
TASKS = ("snli", "banking77", "clinc150")


def key(text: str) -> str:
    return "".join(letter for letter in text.lower() if letter.isalnum())


def test_every_file_is_listed_with_its_rows_and_hash_and_has_no_time_in_it() -> None:
    packed = {path.relative_to(open_data.FOLDER).as_posix() for path in open_data.FOLDER.rglob("*.gz")}
    assert packed == {f"{name}.gz" for name in FILES}
    for name, facts in FILES.items():
        content = (open_data.FOLDER / f"{name}.gz").read_bytes()
        text = gzip.decompress(content)
        assert (text.count(b"\n"), hashlib.sha256(text).hexdigest()) == (facts["rows"], facts["sha256"])
        assert content[4:8] == bytes(4)


def test_the_licence_of_every_file_is_told_with_its_hash() -> None:
    pages = {path.stem: path.read_text() for path in (open_data.FOLDER / "LICENSES").glob("*.md")}
    for name, facts in FILES.items():
        page = pages[Path(name).stem.removesuffix("-dev")]
        assert "creativecommons.org/licenses/by" in page
        assert name in page
        assert facts["sha256"] in page
        assert f"`{name}.gz`" in pages["README"]
        assert f"{facts['rows']:,}" in pages["README"]


def test_all_of_it_is_small() -> None:
    values = [path for path in open_data.FOLDER.rglob("*") if path.is_file() and "encoders" not in path.parts]
    assert sum(path.stat().st_size for path in values if path.suffix != ".pyc") < 3_000_000


@pytest.mark.parametrize("task", TASKS)
def test_dev_and_test_share_no_text(task: str) -> None:
    texts = [
        {key(cell) for row in open_data.table(name, 3) for cell in (row[1:] if task == "snli" else row[2:])}
        for name in (task, f"{task}-dev")
    ]
    assert all(texts)
    assert not texts[0] & texts[1]


@pytest.mark.parametrize("task", TASKS[1:])
def test_dev_and_test_share_no_intent(task: str) -> None:
    test, dev = ({intent for _, intent, _ in open_data.table(name, 3)} for name in (task, f"{task}-dev"))
    assert (len(test), len(dev)) == {"banking77": (57, 20), "clinc150": (120, 30)}[task]
    assert not test & dev


@pytest.mark.parametrize("task", TASKS[1:])
def test_no_text_is_on_both_sides_of_a_task(task: str) -> None:
    for name in (task, f"{task}-dev"):
        texts = [text.lower() for _, _, text in open_data.table(name, 3)]
        assert len(texts) == len(set(texts))


def test_no_sentence_of_the_corpus_is_in_a_task() -> None:
    corpus = {key(sentence) for sentence in open_data.lines("corpora/wikipedia.txt")}
    cells = {
        key(cell)
        for name in FILES
        if name.startswith("tasks/")
        for row in open_data.lines(name)
        for cell in row.split("\t")
    }
    assert len(corpus) == FILES["corpora/wikipedia.txt"]["rows"]
    assert not corpus & cells


def test_the_corpus_by_name_and_a_part_of_it() -> None:
    whole, some = read_corpus("wikipedia"), read_corpus("wikipedia:20")
    assert (len(whole), len(some), some.name) == (19_962, 20, "wikipedia:20")
    assert whole.sha256 == FILES["corpora/wikipedia.txt"]["sha256"]
    assert list(some) == list(whole)[:20]
    assert min(len(sentence.split()) for sentence in whole) == 4


@pytest.mark.parametrize("ref", ["wikipedia:0", "wikipedia:19963", "wikipedia:", "wikipedia:x", "wikipedia:10:1"])
def test_no_such_part_of_the_corpus(ref: str) -> None:
    with pytest.raises(BadData, match=r"wikipedia\[:COUNT\] with a COUNT from 1 to 19962"):
        read_corpus(ref)


@pytest.mark.parametrize("damage", [b"", b"no gzip", gzip.compress(b"other\n", mtime=0), None])
def test_a_damaged_file_is_one_line(damage: bytes | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(open_data.FOLDER / "tasks", tmp_path / "tasks")
    shutil.copy(open_data.FOLDER / "files.json", tmp_path)
    monkeypatch.setattr(open_data, "FOLDER", tmp_path)
    path = tmp_path / "tasks" / "snli-dev.tsv.gz"
    path.unlink() if damage is None else path.write_bytes(damage)
    open_data._files()  # of the package itself
    with pytest.raises(BadData, match=r"snli-dev\.tsv\.gz.*install cseb again"):
        open_data.lines("tasks/snli-dev.tsv")
