from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fuzz.harness import Case, Fuzz
from tests.fuzz.hostile import altered, damaged, dumped, gz_of_one_line, number, odd, text, value

pytestmark = pytest.mark.slow
NAMES = ("corpus.txt", "corpus.csv", "corpus.jsonl")
RUN = ("--sizes", "8", "--seeds", "1", "--tasks", "toy-captions", "--steps", "1", "--workers", "1", "--quiet")


def _rows(rng: random.Random, name: str) -> bytes:
    """Sentences nobody would write, in the format of the name."""
    sentences = [text(rng) if rng.random() < 0.4 else f"a man {number} is eating" for number in range(30)]
    if name.endswith(".jsonl"):
        lines = [json.dumps({"text": value(rng) if rng.random() < 0.1 else each}) for each in sentences]
        return "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogatepass")
    quoted = ['"' + each.replace('"', '""') + '",1' if name.endswith(".csv") else each for each in sentences]
    head = "text,other\n" if name.endswith(".csv") else ""
    return (head + "".join(f"{each}\n" for each in quoted)).encode("utf-8", "surrogatepass")


def _parquet(path: Path, rng: random.Random) -> None:
    import pyarrow
    from pyarrow import parquet

    columns = {"text": ["a man", "a dog", None, "x"] * 5, "n": list(range(20)), "l": [[1]] * 20}
    chosen = rng.sample(sorted(columns), rng.randrange(1, 4))
    parquet.write_table(pyarrow.table({name: columns[name] for name in chosen}), path)
    if rng.random() < 0.6:
        path.write_bytes(damaged(rng, path.read_bytes()))


def _packed(path: Path, rng: random.Random, content: bytes) -> None:
    packed = gzip.compress(content)
    path.write_bytes(packed if rng.random() < 0.2 else damaged(rng, packed))


def test_corpora_are_read_or_refused(fuzz: Fuzz) -> None:
    fuzz.run("corpora", 350, _make)


def _make(case: Case) -> None:
    rng, name = case.rng, case.rng.choice(NAMES)
    path = case.folder / name
    sound = (case.data / name).read_bytes()
    ways: tuple[Callable[[], object], ...] = (
        lambda: path.write_bytes(damaged(rng, sound)),
        lambda: path.write_bytes(_rows(rng, name)),
        lambda: path.write_bytes(damaged(rng, _rows(rng, name))),
        lambda: case.notes.append(odd(rng, path)),
        lambda: _packed(path, rng, sound),
        lambda: _parquet(path, rng),
        lambda: path.write_bytes(b"".join(dumped(rng, altered(rng, {"text": "a", "n": 1})) + b"\n" for _ in range(9))),
    )
    way = rng.randrange(len(ways))
    if way in (4, 5):
        path = path.with_name({4: f"{name}.gz", 5: "corpus.parquet"}[way])
    ways[way]()
    column = rng.choice(((), (), ("--column", "text"), ("--column", text(rng))))
    file = rng.choice((path.name, f"./{path.name}", str(path)))
    if rng.random() < 0.12:
        case.then(
            "run", "../sound/small.yaml", "--methods", "simcse+recipe(batch_size=4)", "--corpus", file, *column, *RUN
        )
    else:
        drawn = rng.choice((("--size", "3"), ("--fraction", "0.2"), ("--size", number(rng))))
        out = rng.choice(((), (), ("--out", "few.txt"), ("--out", f"{text(rng)}.txt")))
        case.then("data", "sample", file, *drawn, *column, *out)


def test_one_line_of_300_mb_is_refused(fuzz: Fuzz) -> None:
    def make(case: Case) -> None:
        name = ("a.txt.gz", "a.jsonl.gz", "a.csv.gz", "a.tsv.gz")[case.number]
        gz_of_one_line(case.folder / name)
        case.then("data", "sample", name, "--size", "1")
        case.then("eval", "words:random", "--tasks", name)

    fuzz.run("lines", 4, make)
