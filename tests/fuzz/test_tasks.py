from __future__ import annotations

import gzip
import json
import random

import pytest

from tests.fuzz.harness import Case, Fuzz
from tests.fuzz.hostile import altered, damaged, dumped, number, odd, text, value, word

pytestmark = pytest.mark.slow
NAMES = ("pairs.tsv", "labels.csv", "faq.jsonl", "candidates.csv")
KINDS = ("pairs", "classification", "clustering", "retrieval", "reranking", "alignment", "uniformity", "geometry")
OPTIONS = ("folds", "clusters", "above")


def test_task_files_are_scored_or_refused(fuzz: Fuzz) -> None:
    fuzz.run("tasks", 400, _make)


def test_folders_of_data_are_checked_or_refused(fuzz: Fuzz) -> None:
    fuzz.run("folders", 80, _folder)


def _make(case: Case) -> None:
    rng, name = case.rng, case.rng.choice(NAMES)
    sound = (case.data / name).read_bytes()
    content = _content(rng, name, sound)
    if rng.random() < 0.15:
        name, content = name.partition(".")[0] + ".json", _list(rng)
    if rng.random() < 0.1:
        name, content = f"{name}.gz", gzip.compress(content)
    if rng.random() < 0.1:
        name = f"{text(rng)}{name}".replace("/", "_").replace("\0", "_")[-80:]
    path = case.folder / name.encode("utf-8", "surrogateescape" if _decodable(name) else "replace").decode(
        "utf-8", "surrogateescape"
    )
    path.write_bytes(content if rng.random() < 0.8 else damaged(rng, content))
    if rng.random() < 0.1:
        case.notes.append(odd(rng, path))
    kind = rng.choice(("", "", "", f":{word(rng, KINDS)}", f":{rng.choice(KINDS)}({word(rng, OPTIONS)}={number(rng)})"))
    encoder = rng.choice(("words:random", "words:random", "words:tf-idf", "cseb-tiny"))
    case.then("eval", encoder, "--tasks", f"./{path.name}{kind}" if rng.random() < 0.5 else f"{path}{kind}")


def _decodable(name: str) -> bool:
    try:
        name.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return False
    return True


def _content(rng: random.Random, name: str, sound: bytes) -> bytes:
    """The file with cells, columns or lines that are others."""
    if name.endswith(".jsonl"):
        rows = [json.loads(line) for line in sound.splitlines()]
        if rng.random() < 0.5:
            rows = altered(rng, rows)
        rows = rows if isinstance(rows, list) else [rows]
        return b"".join(dumped(rng, row).replace(b"\n", b" ") + b"\n" for row in rows)
    mark = "\t" if name.endswith(".tsv") else ","
    rows = [line.split(mark) for line in sound.decode().splitlines()]
    for _ in range(rng.choice((1, 1, 2, 5))):
        row = rng.choice(rows[rng.choice((0, 1)) :])
        roll = rng.random()
        if roll < 0.7:
            row[rng.randrange(len(row))] = rng.choice((number, number, text))(rng)
        elif roll < 0.85:
            row.append(text(rng))
        elif len(row) > 1:
            del row[rng.randrange(len(row))]
    roll = rng.random()
    if roll < 0.1:
        rows = rows[:1]
    elif roll < 0.2:
        rows = rows[: rng.randrange(1, 5)]
    elif roll < 0.3:
        chosen = number(rng)
        rows = [rows[0], *([*row[:-1], chosen] for row in rows[1:])]
    elif roll < 0.4:
        rows[0] = [word(rng, (each,)) for each in rows[0]]
    return "".join(mark.join(row) + "\n" for row in rows).encode("utf-8", "surrogatepass")


def _list(rng: random.Random) -> bytes:
    rows = [{"text": f"a man {number}", "label": number % 2} for number in range(20)]
    return dumped(rng, altered(rng, rows) if rng.random() < 0.8 else value(rng))


def _folder(case: Case) -> None:
    """A folder in SentEval's layout with a file or two that are not what they should be."""
    rng = case.rng
    places = ("STS/STSBenchmark/sts-dev.csv", "STS/STSBenchmark/sts-test.csv", "SICK/SICK_test_annotated.txt",
              "STS/STS12-en-test/STS.input.MSRpar.txt", "STS/STS12-en-test/STS.gs.MSRpar.txt", "MR/rt-polarity.pos",
              "CR/custrev.pos",
              "SST/binary/sentiment-train", "TREC/train_5500.label", "MRPC/msr_paraphrase_train.txt",
              "SUBJ/subj.objective")  # fmt: skip
    for place in rng.sample(places, rng.randrange(1, 5)):
        path = case.folder / "data" / place
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = [f"genre\tfile\tyear\t{n}\t{number(rng)}\ta man {n}\t{text(rng)}" for n in range(20)]
        content = "\n".join(lines).encode("utf-8", "surrogatepass")
        path.write_bytes(content if rng.random() < 0.4 else damaged(rng, content))
        if rng.random() < 0.3:
            case.notes.append(f"{place}: {odd(rng, path)}")
    names = rng.choice(((), ("stsb",), ("mr",), ("sts12", "sickr"), (text(rng) or "x",)))
    command = rng.choice(("check", "check", "list", "fetch"))
    if command == "fetch":
        case.then("data", "fetch", *(names or ("stsb",)), "--from", "data", "--to", "copied")
    else:
        case.then("data", command, *names, "--data-dir", "data")
    if rng.random() < 0.4:
        case.then(
            "eval",
            "words:random",
            "--tasks",
            rng.choice(("stsb", "sickr", "sts12", "mr-logreg", "stsb-dev")),
            "--data-dir",
            "data",
        )
