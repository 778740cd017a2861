"""The corpus that a language model wrote: what it is asked to rewrite, and what is taken of its answers."""

import gzip
import hashlib
import json
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.written import COUNT, LONGEST, SHORTEST, drawn, joined, main
from cseb.data.corpus import read_corpus
from cseb.errors import BadData

RESULTS = Path(__file__).parents[1] / "results" / "written"
ANSWERS = "1\tThe cat is asleep.\tThe cat is awake.\n2\tIt rains.\tThe sun shines.\n"


def parts(folder: Path, answers: str) -> Path:
    (folder / "part-01.tsv").write_text("1\tThe cat sleeps.\n2\tRain falls.\n", encoding="utf-8")
    (folder / "written-01.tsv").write_text(answers, encoding="utf-8")
    return folder


def test_answers_are_joined_to_their_sentences(tmp_path: Path) -> None:
    assert joined(parts(tmp_path, ANSWERS)) == [
        {"sent0": "The cat sleeps.", "sent1": "The cat is asleep.", "hard_neg": "The cat is awake."},
        {"sent0": "Rain falls.", "sent1": "It rains.", "hard_neg": "The sun shines."},
    ]


def test_answers_without_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = parts(tmp_path, ANSWERS) / "written-01.tsv"
    monkeypatch.setattr("sys.argv", ["written", "join", str(tmp_path), "--to", str(tmp_path / "new")])
    for content in (b"1\ta\tb\xff\n", None):
        file.write_bytes(content) if content else file.unlink()
        with pytest.raises(SystemExit, match="2"):
            main()
        text = capsys.readouterr().err
        assert text.startswith(f"written: {file}")
        assert text.count("\n") == 1
    parts(tmp_path, ANSWERS)
    main()
    made = gzip.decompress((tmp_path / "new" / "triples.jsonl.gz").read_bytes())
    assert [json.loads(line) for line in made.splitlines()] == joined(tmp_path)


def test_no_part_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(BadData, match=r"holds no part-01\.tsv"):
        joined(tmp_path)


def test_sentences_are_drawn_once_by_their_length_and_the_seed() -> None:
    sentences = [" ".join([f"w{n}"] * (n % 40)) for n in range(400)]
    first, second = drawn(sentences, 50), drawn(sentences, 50, seed=1)
    assert len(set(first)) == 50
    assert first != second
    assert {SHORTEST <= len(each.split()) <= LONGEST for each in first} == {True}


def test_the_published_corpus_is_of_the_sentences_drawn_and_its_provenance_of_the_prompt() -> None:
    rows = [json.loads(line) for line in gzip.decompress((RESULTS / "triples.jsonl.gz").read_bytes()).splitlines()]
    assert [row["sent0"] for row in rows] == drawn(list(read_corpus("wikipedia")), COUNT)
    assert not [text for text, times in Counter(row["sent1"] for row in rows).items() if times > 1]
    corpus = read_corpus(
        f"generated:{RESULTS / 'triples.jsonl.gz'}", column="anchor=sent0,positive=sent1,negative=hard_neg"
    )
    assert corpus.provenance.prompt_sha256 == hashlib.sha256((RESULTS / "prompt.txt").read_bytes()).hexdigest()
