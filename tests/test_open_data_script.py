"""`benchmarks/open_data.py` on sources made up here: what is taken, what is left out, and what is refused."""

import gzip
import hashlib
import json
from pathlib import Path

import pytest

from benchmarks import open_data as script

LABELS = ("neutral", "entailment", "contradiction")


def lines(*rows: str) -> str:
    return "".join(f"{row}\n" for row in rows)


@pytest.fixture
def sources(tmp_path: Path) -> dict[str, dict[str, str]]:
    """Text by argument and file: 12 captions with three sentences each, 25 intents of a bank, 35 of an assistant."""
    captions = [f"Caption number {number} ." for number in range(12) for _ in LABELS]
    said = [f"Sentence {number}  of kind {kind} ." for number in range(12) for kind in LABELS]
    bank = [f"bank{number}" for number in range(25)]
    oos = [f"task{number}" for number in range(35)]
    return {
        "snli": {
            **{f"s1.{split}": lines(*(f"{split} {one}" for one in captions)) for split in ("test", "dev")},
            "s2.test": lines(*said),
            "s2.dev": lines("SENTENCE 0 of kind neutral", *(f"dev {one}" for one in said[1:])),
            **{f"labels.{split}": lines(*LABELS * 12) for split in ("test", "dev")},
        },
        "banking": {
            "train.csv": "text,category\n" + lines(*(f'"Why {n},\n{one}?",{one}' for one in bank for n in range(15))),
            "test.csv": "text,category\n" + lines(*(f'"{w} 3, {one}?",{one}' for one in bank for w in ("why", "When"))),
        },
        "clinc": {
            "data_full.json": json.dumps(
                {
                    "train": [[f"say {n} {one}", one] for one in oos for n in range(25)],
                    "test": [[f"say {n} {one}", one] for one in oos for n in range(20, 32)],
                    "oos_test": [["who is it", "oos"]],
                }
            )
        },
        "wikipedia": {
            "corpus.txt": lines(
                "One of four words.", "Three words only.", "One of four words.", "Say 20 – task0!", "A line of text."
            )
        },
    }


def run(tmp_path: Path, sources: dict[str, dict[str, str]], *more: str) -> int:
    listed: dict[str, dict[str, str]] = {}
    words: list[str] = []
    for name, files in sources.items():
        (tmp_path / name).mkdir(exist_ok=True)
        words += [f"--{name}", str(tmp_path / name)]
        for file, text in files.items():
            (tmp_path / name / file).write_text(text)
            listed.setdefault(name, {})[file] = hashlib.sha256(text.encode()).hexdigest()
    return script.main([*words, "--out", str(tmp_path / "out"), *more], listed)


def made(tmp_path: Path, name: str) -> list[list[str]]:
    text = gzip.decompress((tmp_path / "out" / f"{name}.gz").read_bytes()).decode()
    return [line.split("\t") for line in text.splitlines()]


def test_files_and_what_is_said_of_them(tmp_path: Path, sources: dict[str, dict[str, str]]) -> None:
    assert run(tmp_path, sources) == 0
    first = {path: path.read_bytes() for path in (tmp_path / "out").rglob("*.*")}
    assert run(tmp_path, sources) == 0
    assert first == {path: path.read_bytes() for path in (tmp_path / "out").rglob("*.*")}
    facts = json.loads((tmp_path / "out" / "files.json").read_text())
    assert len(facts) == 7
    for name, told in facts.items():
        content = gzip.decompress((tmp_path / "out" / f"{name}.gz").read_bytes())
        assert told == {"rows": content.count(b"\n"), "sha256": hashlib.sha256(content).hexdigest()}


def test_every_third_caption_with_all_its_sentences(tmp_path: Path, sources: dict[str, dict[str, str]]) -> None:
    run(tmp_path, sources)
    found = made(tmp_path, "tasks/snli.tsv")
    assert [row[1] for row in found] == [f"test Caption number {n} ." for n in (0, 3, 6, 9) for _ in LABELS]
    assert found[0] == ["1", "test Caption number 0 .", "Sentence 0 of kind neutral ."]
    assert [row[0] for row in found] == ["1", "2", "0"] * 4
    dev = made(tmp_path, "tasks/snli-dev.tsv")
    assert [row[1] for row in dev] == [f"dev Caption number {n} ." for n in (0, 0, 6, 6, 6)]  # one is in the test split


def test_intents_are_in_one_task_and_texts_on_one_side(tmp_path: Path, sources: dict[str, dict[str, str]]) -> None:
    run(tmp_path, sources)
    for task, dev_intents, sides in (("banking77", 20, (10, 2)), ("clinc150", 30, (10, 20))):
        test, dev = made(tmp_path, f"tasks/{task}.tsv"), made(tmp_path, f"tasks/{task}-dev.tsv")
        assert len({row[1] for row in dev}) == dev_intents
        assert not {row[1] for row in dev} & {row[1] for row in test}
        for rows in (test, dev):
            parts = list(dict.fromkeys(row[0] for row in rows))
            intents = len({row[1] for row in rows})
            assert [sum(row[0] == part for row in rows) for part in parts] == [intents * each for each in sides]
            assert len({row[2].lower() for row in rows}) == len(rows)  # "Why 3, bank4?" is "why 3, bank4?" of the test


def test_the_corpus_lacks_short_lines_repetitions_and_what_is_tested(
    tmp_path: Path, sources: dict[str, dict[str, str]]
) -> None:
    queries = {
        row[2]
        for name in ("clinc150", "clinc150-dev")
        for row in (run(tmp_path, sources), made(tmp_path, f"tasks/{name}.tsv"))[1]
    }
    corpus = made(tmp_path, "corpora/wikipedia.txt")
    assert ["One of four words."] in corpus
    assert len(corpus) == 3 - ("say 20 task0" in queries)
    (tmp_path / "others").mkdir()
    (tmp_path / "others" / "sts.txt").write_text("5\ta line of TEXT\n0 one of four words\n")
    assert run(tmp_path, sources, "--against", str(tmp_path / "others")) == 0
    assert len(made(tmp_path, "corpora/wikipedia.txt")) == len(corpus) - 2


def test_other_sources_are_refused_in_one_line(
    tmp_path: Path, sources: dict[str, dict[str, str]], capsys: pytest.CaptureFixture[str]
) -> None:
    run(tmp_path, sources)
    listed = {name: dict.fromkeys(files, "0" * 64) for name, files in sources.items()}
    words = [word for name in sources for word in (f"--{name}", str(tmp_path / name))]
    assert script.main([*words, "--out", str(tmp_path / "out")], listed) == 2
    assert "s1.test has sha256" in capsys.readouterr().err
    (tmp_path / "snli" / "s1.test").unlink()
    assert script.main([*words, "--out", str(tmp_path / "out")], listed) == 2
    assert "--snli: there is no file" in capsys.readouterr().err
