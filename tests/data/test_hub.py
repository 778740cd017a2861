"""Data sets: read from a folder without a network, and a clear answer where there is none."""

import gzip
from pathlib import Path

import pyarrow as pa
import pytest
from datasets import Dataset, DatasetDict
from pyarrow import parquet

from cseb.data import corpus as corpora
from cseb.data import hub, readers
from cseb.data.corpus import read_corpus
from cseb.errors import BadData

WRITERS = {
    "part.csv": lambda path: path.write_text("id,text\n1,one\n2,\n3,two\n"),
    "part.jsonl": lambda path: path.write_text('{"text": "one"}\n{"text": null}\n{"text": "two"}\n'),
    "part.parquet": lambda path: parquet.write_table(pa.table({"text": ["one", None, "two"]}), path),
    "part.txt": lambda path: path.write_text("one\n\ntwo\n"),
}


@pytest.mark.parametrize("name", WRITERS)
def test_a_folder_is_read_as_a_data_set(tmp_path: Path, name: str) -> None:
    WRITERS[name](tmp_path / name)
    corpus = read_corpus(f"hub:{tmp_path}")
    assert list(corpus) == ["one", "two"]
    assert (corpus.name, corpus.blank) == (f"hub:{tmp_path}", 1)


@pytest.mark.parametrize("splits", [False, True])
@pytest.mark.parametrize("kind", ["", "hub:"])
def test_a_folder_of_save_to_disk_is_read(tmp_path: Path, splits: bool, kind: str) -> None:
    """Of several splits it is the one called train; two files are read one after the other."""
    rows = Dataset.from_dict({"n": [1, 2, 3], "text": ["one", None, "two"]})
    saved = DatasetDict({"test": rows.select([0]), "train": rows}) if splits else rows
    saved.save_to_disk(tmp_path / "saved", **({} if splits else {"num_shards": 2}))
    corpus = read_corpus(f"{kind}{tmp_path / 'saved'}")
    assert (corpus.name, list(corpus), corpus.blank) == (f"{kind}{tmp_path / 'saved'}", ["one", "two"], 1)
    with pytest.raises(BadData, match=r"row 1: column 'n' holds \d+; text"):
        read_corpus(f"{kind}{tmp_path / 'saved'}", "n")


def test_one_split_needs_no_name_and_several_do(tmp_path: Path) -> None:
    rows = Dataset.from_dict({"text": ["one"]})
    DatasetDict({"test": rows}).save_to_disk(tmp_path / "test")
    assert list(read_corpus(str(tmp_path / "test"))) == ["one"]
    DatasetDict({"test": rows, "dev": rows}).save_to_disk(tmp_path / "two")
    with pytest.raises(BadData, match=r"two has the splits test, dev; name one of them, such as .*two/test$"):
        read_corpus(str(tmp_path / "two"))
    assert list(read_corpus(str(tmp_path / "two" / "dev"))) == ["one"]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("data-00000-of-00001.arrow", b"no arrow"),
        ("data-00000-of-00001.arrow", None),
        ("state.json", b"{}"),
        ("state.json", b"no json"),
        ("state.json", b'{"_data_files": [1]}'),
        ("dataset_dict.json", b'{"splits": []}'),
        ("dataset_dict.json", b'{"splits": 3}'),
    ],
)
def test_a_damaged_folder_of_save_to_disk_is_refused(tmp_path: Path, name: str, content: bytes | None) -> None:
    Dataset.from_dict({"text": ["one"]}).save_to_disk(tmp_path)
    if content is None:
        (tmp_path / name).unlink()
    else:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(BadData, match="cannot be read as a data set of save_to_disk: "):
        read_corpus(f"{tmp_path}")


def test_the_column_of_a_folder_is_checked(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"n": 1, "body": "one"}\n')
    assert list(read_corpus(f"hub:{tmp_path}", "body")) == ["one"]
    with pytest.raises(
        BadData, match=r"^hub:[^ ]* has no column 'boby'; found: 'n', 'body'; did you mean `column` body"
    ):
        read_corpus(f"hub:{tmp_path}", "boby")
    with pytest.raises(BadData, match=r"row 1: column 'n' holds \d+; text"):
        read_corpus(f"hub:{tmp_path}", "n")


def test_a_text_of_a_folder_is_no_longer_than_one_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readers, "LONGEST_FIELD", 10)
    (tmp_path / "a.jsonl").write_text('{"text": "one"}\n{"text": "eleven letters"}\n')
    with pytest.raises(BadData, match="row 2: more text"):
        read_corpus(f"hub:{tmp_path}")


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "cannot be read"),
        ({"a.jsonl": b"{"}, "cannot be read"),
        ({"a.parquet": b"PAR1"}, "cannot be read"),
        ({"test.jsonl": b'{"text": "a"}\n'}, "cannot be read .*train"),
    ],
)
def test_a_folder_that_is_no_data_set_is_answered(tmp_path: Path, files: dict[str, bytes], message: str) -> None:
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    with pytest.raises(BadData, match=message):
        read_corpus(f"hub:{tmp_path}")


@pytest.mark.parametrize("place", ["", "/no/such/folder", "a b", "owner/name@", "owner/name:x:y", "x" * 5000 + "/"])
def test_a_name_that_cannot_be_is_answered(place: str) -> None:
    with pytest.raises(BadData, match="is neither a folder nor OWNER/NAME"):
        read_corpus(f"hub:{place}")


def test_without_a_network_the_answer_says_what_to_put_where(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(name: str, revision: str | None) -> None:
        raise ConnectionError("no route\nto host")

    monkeypatch.setattr(hub, "_check_reachable", unreachable)
    with pytest.raises(BadData, match=r"hub:owner/name:en@v1 cannot be read \(no route\); .* name it hub:FOLDER"):
        read_corpus("hub:owner/name:en@v1")
    with pytest.raises(
        BadData, match=r"wiki\.txt of the data set owner/name cannot be fetched from the hub \(no route\)"
    ):
        read_corpus("hub:owner/name/wiki.txt")


def test_one_file_of_a_data_set_is_read_by_its_ending(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = tmp_path / "wiki.txt.gz"
    ours.write_bytes(gzip.compress(b"one\ntwo\n"))
    asked = []

    def fetch(name: str, file: str, revision: str | None) -> Path:
        asked.append((name, file, revision))
        return ours

    monkeypatch.setattr(corpora, "hub_file", fetch)
    assert list(read_corpus("hub:owner/name/data/wiki.txt.gz@abc")) == ["one", "two"]
    assert asked == [("owner/name", "data/wiki.txt.gz", "abc")]
