"""Advice, overlap, cards and exports of what nobody should have."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.conftest import OBJECTS, SENTENCES
from tests.fuzz.harness import Case, Fuzz
from tests.fuzz.hostile import altered, damaged, dumped, number, odd, text, word

pytestmark = pytest.mark.slow
LINES = [f"{sentence} and {other}" for sentence in SENTENCES for other in OBJECTS]
METHODS = ("simcse+recipe(batch_size=8)", "simcse+recipe(batch_size=8),crops+recipe(batch_size=8)")
OPTIONS: dict[str, tuple[str, ...]] = {
    "--budget": ("1", "30", "0.01"),
    "--tasks": ("mw-captions", "mw-captions,mw-forum", "../sound/pairs.tsv", "stsb"),
    "--teacher": ("microworld", "../sound/st", "words:tf-idf", "../sound/glove.txt"),
    "--ask": ("20", "60", "1000"),
    "--methods": ("simcse", "cls", "micse+ami(layers=(7,))", "simcse+recipe(batch_size=4000)"),
    "--encoder": ("words:tf-idf", "../sound/st", "microworld", "../sound"),
    "--steps": ("1", "2"),
    "--out": ("model", "../sound", "corpus.txt", "nowhere/model"),
    "--results": ("records", "../sound/results", "corpus.txt"),
    "--column": ("text",),
    "--threads": ("1",),
    "--workers": ("1",),
    "--device": ("cpu",),
}


def test_recommendations_are_given_or_refused(fuzz: Fuzz) -> None:
    fuzz.run("recommend", 60, _recommend)


def test_a_damaged_folder_of_a_recommendation_goes_on_or_is_refused(fuzz: Fuzz) -> None:
    fuzz.run("resumed", 12, _resumed)


def test_overlap_is_counted_or_refused(fuzz: Fuzz) -> None:
    fuzz.run("overlap", 60, _overlap)


def test_cards_are_written_or_refused(fuzz: Fuzz) -> None:
    fuzz.run("card", 60, lambda case: _of_a_record(case, "card"))


def test_models_are_exported_or_refused(fuzz: Fuzz) -> None:
    fuzz.run("export", 40, lambda case: _of_a_record(case, "export"))


def _sound(case: Case) -> tuple[Path, Path]:
    """A corpus and a judge that a recommendation can be made of."""
    corpus, judge = case.folder / "corpus.txt", case.folder / "judge.tsv"
    corpus.write_text("".join(f"{line}\n" for line in LINES))
    rows = [f"{LINES[n]}\t{LINES[n + 64]}\t{n % 4}" for n in range(40)]
    judge.write_text("".join(f"{row}\n" for row in ["sentence1\tsentence2\tscore", *rows]))
    return corpus, judge


def _corpus(case: Case, path: Path) -> None:
    rng = case.rng
    ways: tuple[Callable[[], object], ...] = (
        lambda: path.write_bytes(damaged(rng, path.read_bytes())),
        lambda: path.write_bytes("".join(f"{text(rng)}\n" for _ in LINES).encode("utf-8", "surrogatepass")),
        lambda: path.write_text("".join(f"{line}\n" for line in LINES[: rng.randrange(120)])),
        lambda: path.write_text(f"{LINES[0]}\n" * 200),
        lambda: path.write_text("".join(f"{chr(0x4E00 + n)}{chr(0x5E00 + n)}\n" for n in range(200))),
        lambda: path.write_text("".join(f"{line} {'very ' * 3000}\n" for line in LINES[:120])),
        lambda: case.notes.append(odd(rng, path)),
    )
    rng.choice(ways)()


def _judge(case: Case, path: Path) -> None:
    rng = case.rng
    rows = [line.split("\t") for line in path.read_text().splitlines()]
    roll = rng.random()
    if roll < 0.3:
        path.write_bytes(damaged(rng, path.read_bytes()))
        return
    if roll < 0.4:
        case.notes.append(odd(rng, path))
        return
    if roll < 0.6:
        rows = rows[: rng.randrange(30)]
    elif roll < 0.7:
        rows = [rows[0], *([left, right, "3"] for left, right, _ in rows[1:])]
    elif roll < 0.8:
        rows = [rows[0], *([LINES[0], right, score] for _, right, score in rows[1:])]
    for _ in range(rng.choice((1, 5))):
        row = rng.choice(rows or [[""]])
        row[rng.randrange(len(row))] = rng.choice((number, text))(rng)
    path.write_bytes("".join("\t".join(row) + "\n" for row in rows).encode("utf-8", "surrogatepass"))


def _recommend(case: Case) -> None:
    rng = case.rng
    corpus, judge = _sound(case)
    chosen = {"--judge": judge.name, "--methods": rng.choice(METHODS), "--steps": "1", "--encoder": "../sound/tiny"}
    chosen |= {"--workers": "1", "--device": "cpu", "--linear": "blas"}
    flags = ["--dry-run"] if rng.random() < 0.5 else []
    way = rng.random()
    if way < 0.3:
        _corpus(case, corpus)
    elif way < 0.6:
        _judge(case, judge)
    if way > 0.5:
        for name in rng.sample(sorted(OPTIONS), rng.choice((1, 1, 2))):
            chosen[name] = _value(rng, OPTIONS[name])
            if name in ("--tasks", "--teacher", "--ask") and rng.random() < 0.9:
                chosen.pop("--judge", None)
    if rng.random() < 0.1:
        chosen.pop("--judge", None)
    if rng.random() < 0.1:
        chosen["--judge"] = rng.choice(
            ("../sound/labels.csv", "../sound/faq.jsonl", "../sound/candidates.csv:reranking")
        )
    case.then("recommend", corpus.name, *(each for pair in chosen.items() for each in pair), *flags)


def _resumed(case: Case) -> None:
    """A recommendation, then the same command over a folder in which something was damaged."""
    rng = case.rng
    corpus, judge = _sound(case)
    command = ("recommend", corpus.name, "--encoder", "../sound/tiny", "--methods", METHODS[0], "--steps", "1",
               "--workers", "1", "--device", "cpu", "--linear", "blas")  # fmt: skip
    records = case.folder / "corpus.recommend"
    records.mkdir()
    if rng.random() < 0.5:
        case.then(*command, "--ask", "20", "--budget", "0.01")
        names = ("answers.tsv", "pool.tsv", "train.txt")
        answers = ["first\tsecond\tweight\tpart\trepeats\tanswer"]
        answers += [f"{n}\t{n + 1}\t1.0\t{'choose' if n % 3 else 'decide'}\t-1\t{n % 2 + 1}" for n in range(20)]
        for _ in range(rng.choice((0, 1, 3))):
            cells = answers[at := rng.randrange(len(answers))].split("\t")
            cells[rng.randrange(len(cells))] = rng.choice((number, text))(rng)
            answers[at] = "\t".join(cells)
        (records / "answers.tsv").write_bytes("\n".join(answers).encode("utf-8", "surrogatepass"))
    else:
        case.then(*command, "--judge", judge.name, "--budget", "0.01")
        names = ("rated-choose.tsv", "rated-decide.tsv", "train.txt", "runs")
    path = records / rng.choice(names)
    if rng.random() < 0.5:
        case.notes.append(odd(rng, path))
    else:
        path.write_bytes(damaged(rng, path.read_bytes() if path.is_file() else b"a man\n"))


def _overlap(case: Case) -> None:
    rng = case.rng
    corpus, judge = _sound(case)
    if rng.random() < 0.4:
        _corpus(case, corpus)
    if rng.random() < 0.3:
        _judge(case, judge)
    argv: list[str] = [_value(rng, (corpus.name, "microworld:50", "../sound/corpus.csv"), 0.8)]
    argv += ["--tasks", _value(rng, (judge.name, "../sound/labels.csv", "mw-captions", "stsb", "sts"), 0.85)]
    if rng.random() < 0.4:
        argv += ["--near", _value(rng, ("0.8", "1", "0.01"), 0.5)]
    if rng.random() < 0.4:
        argv += ["--examples", _value(rng, ("1", "1000"), 0.5)]
    if rng.random() < 0.2:
        argv += ["--column", _value(rng, ("text",), 0.5)]
    case.then("data", "overlap", *argv)


def _of_a_record(case: Case, command: str) -> None:
    """A card or an export of a record that is not what it was, or of none."""
    rng, folder = case.rng, case.folder / "saved"
    shutil.copytree(case.data / "saved", folder)
    (key,) = [path.stem for path in (folder / "runs").glob("*.json")]
    record, model = folder / "runs" / f"{key}.json", folder / "models" / key
    for _ in range(rng.choice((0, 1, 1, 2))):
        _spoil(case, record, model)
    asked = rng.choice((key, key, key, str(record), key[:8], _value(rng, (key,), 0.0)))
    argv = [command, asked, "--results", rng.choice(("saved", "saved", "saved", "../sound/results", "saved/models"))]
    if rng.random() < 0.3:
        argv += ["--license", _value(rng, ("apache-2.0", "mit"), 0.5)]
    if command == "export":
        argv += _where(rng)
        case.then(*argv)
        case.then(*argv)  # the folder is there by now
    else:
        case.then(*argv)


def _where(rng: random.Random) -> list[str]:
    ways: Sequence[list[str]] = (
        ["--to", "out"],
        ["--to", "out"],
        ["--to", "saved"],
        ["--to", f"{text(rng)}out"],
        ["--to", "nowhere/out"],
        ["--push", _value(rng, ("me/name",), 0.5)],
        ["--to", "out", "--format", _value(rng, ("onnx", "onnx-int8", "transformers"), 0.5)],
        [],
    )
    return rng.choice(ways)


def _spoil(case: Case, record: Path, model: Path) -> None:
    rng = case.rng
    files = [path for path in sorted(model.rglob("*")) if path.is_file() and not path.is_symlink()]
    if rng.random() < 0.5 or not files:
        if not record.is_file() or record.is_symlink():
            return
        try:
            held = json.loads(record.read_bytes())
        except ValueError:
            return
        record.write_bytes(dumped(rng, altered(rng, held)) if rng.random() < 0.8 else damaged(rng, record.read_bytes()))
        return
    path = rng.choice(files)
    case.notes.append(path.name)
    if rng.random() < 0.3:
        case.notes.append(odd(rng, path))
    else:
        path.write_bytes(damaged(rng, path.read_bytes()))


def _value(rng: random.Random, known: tuple[str, ...], sound: float = 0.6) -> str:
    if rng.random() < sound:
        return rng.choice(known)
    return rng.choice((number, text, lambda one: word(one, known)))(rng)
