"""Files of strangers: named pipes, devices, bombs and endless numbers are one line each, before they are read."""

import gzip
import os
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from cseb.data import bounded, readers
from cseb.data.bounded import LONGEST, read_yaml
from cseb.data.corpus import read_corpus
from cseb.data.tables import read_table
from cseb.errors import BadBenchmark, BadData, BadResults
from cseb.experiment import benchmark as benchmarks
from cseb.records.store import Store
from cseb.tasks.own import task_file

GRID = "name: x\nmethods: cls\nencoder: cseb-tiny\ncorpus: wikipedia\ntasks: toy-captions\n"


def fifo(path: Path) -> None:
    os.mkfifo(path)


def listener(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))


def loop(path: Path) -> None:
    path.symlink_to(path)


def endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


READERS: dict[str, Callable[[Path], object]] = {
    "corpus.txt": lambda path: read_corpus(str(path)),
    "corpus.txt.gz": lambda path: read_corpus(str(path)),
    "corpus.parquet": lambda path: read_corpus(str(path)),
    "task.tsv": lambda path: task_file(str(path)).load(None),
    "task.json": read_table,
    "grid.yaml": read_yaml,
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)  # names of sockets are short
    yield Path()


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("make", [fifo, listener, loop, endless, Path.mkdir])
def test_only_regular_files_are_read(folder: Path, name: str, make: Callable[[Path], object]) -> None:
    path, began = folder / name, time.monotonic()
    make(path)
    with pytest.raises(BadData):
        READERS[name](path)
    assert time.monotonic() - began < 10


@pytest.mark.parametrize(
    "text",
    [
        *("a: &a [*a]", "a: &a {x: 1}\nb: {<<: *a}", "a: " + "[" * 50_000, "sizes: " + "9" * 5000),
        *("sizes: 0x" + "f" * 9000, "sizes: " + ":".join("1" * 2000), "a: 1.0e" + "9" * 400, "x" * LONGEST),
    ],
)
def test_yaml_without_end_is_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.yaml").write_text(GRID + "seeds: 1\n" + text)
    with pytest.raises(BadBenchmark) as error:
        benchmarks.load(str(tmp_path / "a.yaml"))
    assert len(str(error.value)) < 600


def test_aliases_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("a: &a {x: 1}\nb: [*a, *a]\n")
    with pytest.raises(BadData, match=r"aliases \(\*name\) are not allowed"):
        read_yaml(tmp_path / "a.yaml")


@pytest.mark.parametrize("text", ["\nseeds: 1\n\nseeds: 2\n", "tune:\n  options:\n\n    {a.b: [1], a.b: [2]}\n"])
def test_a_key_that_is_there_twice_is_refused(tmp_path: Path, text: str) -> None:
    """The first one was forgotten."""
    (tmp_path / "a.yaml").write_text(text)
    with pytest.raises(BadData, match=r"(seeds|a\.b) is there twice, again in line 4; keep one"):
        read_yaml(tmp_path / "a.yaml")


def test_a_grid_of_millions_of_jobs_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(f"{GRID}seeds: 10000\nsizes: {list(range(1, 100))}\n")
    with pytest.raises(BadBenchmark, match="990,000 jobs"):
        benchmarks.load(str(tmp_path / "a.yaml"))


@pytest.mark.parametrize("line", [b"a" * 50_000_000, b"a\n" * 25_000_000])
def test_a_gzip_bomb_is_unpacked_no_further_than_text_can_grow(tmp_path: Path, line: bytes) -> None:
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(line, 1))
    with pytest.raises(BadData, match="decompresses to more than"):
        read_corpus(str(tmp_path / "a.txt.gz"))


def test_a_gzip_file_that_text_could_be_is_bounded_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It shrinks as text does, so that only the bound in bytes can stop it."""
    rows = [f"sentence {number} of many" for number in range(20_000)]
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress("\n".join(rows).encode()))
    monkeypatch.setattr(bounded, "UNPACKED", 100_000)
    with pytest.raises(BadData, match="decompresses to more than"):
        read_corpus(str(tmp_path / "a.txt.gz"))


def test_a_small_gzip_file_may_shrink_as_much_as_it_likes(tmp_path: Path) -> None:
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(b"a man\n" * 100_000))
    assert (tmp_path / "a.txt.gz").stat().st_size * bounded.RATIO < 600_000
    assert len(list(read_corpus(str(tmp_path / "a.txt.gz")))) == 100_000


def test_a_line_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readers, "LONGEST_LINE", 100)
    (tmp_path / "a.txt").write_bytes(b"one\n" + b"a" * 100 + b"\n")
    with pytest.raises(BadData, match="line 2 is longer than 100 bytes"):
        read_corpus(str(tmp_path / "a.txt"))


def test_half_a_pair_in_a_task_is_no_text(tmp_path: Path) -> None:
    for name, text in (("a.json", '[{"text": "\\ud800", "label": 1}]'), ("a.jsonl", '{"text\\ud800": "a"}')):
        (tmp_path / name).write_text(text)
        with pytest.raises(BadData, match="an unpaired surrogate"):
            read_table(tmp_path / name)


def test_items_that_are_a_pipe_or_a_bomb_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, key = Store(tmp_path), "0123456789abcdef"
    store.prepare()
    os.mkfifo(store.items / f"{key}.npz")
    with pytest.raises(BadResults, match="a regular file is needed"):
        store.read_items(key)
    (store.items / f"{key}.npz").unlink()
    monkeypatch.setattr("cseb.records.items.LARGEST", 1000)
    np.savez_compressed(store.items / f"{key}.npz", zeros=np.zeros(10_000, dtype=np.float32))
    with pytest.raises(BadResults, match="unpacks to 40128 bytes"):
        store.read_items(key)
