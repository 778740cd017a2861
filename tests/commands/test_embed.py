"""Vectors of a user's sentences: those that are scored, in every format, continued after an interruption."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import cseb
from cseb.embedders import vector_cache
from cseb.errors import BadData, BadSpec, CsebError
from cseb.progress import ENCODING, listening
from cseb.tasks.evaluate import load_task
from tests.command_line import call
from tests.conftest import SENTENCES

LINES = SENTENCES[:20]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "my.txt").write_text("\n".join([*LINES[:1], "", *LINES[1:]]), encoding="utf-8")
    return tmp_path / "my.txt"


def read(path: Path) -> tuple[list[str], np.ndarray]:
    if path.suffix == ".npz":
        arrays = np.load(path)
        return arrays["sentences"].tolist(), arrays["vectors"]
    frame = pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_json(path, lines=True)
    return frame.sentence.tolist(), np.stack(frame.vector.map(np.asarray))


@pytest.mark.parametrize("suffix", [".parquet", ".npz", ".jsonl"])
def test_a_file_has_one_vector_for_each_sentence(file: Path, suffix: str) -> None:
    out = file.with_suffix(suffix)
    result = call("embed", "cseb-tiny", file, "--pooler", "mean", "--out", out, "--device", "cpu")
    assert (result.exit_code, result.stdout) == (0, f"20 vectors of 128 numbers written to {out}\n")
    assert "1 blank line left out" in result.stderr
    sentences, vectors = read(out)
    assert sentences == LINES
    np.testing.assert_allclose(vectors, cseb.embed("cseb-tiny", LINES, pooler="mean", device="cpu"), atol=1e-6)
    assert sorted(path.name for path in file.parent.iterdir()) == sorted(["my.txt", out.name])


def test_the_vectors_are_those_that_are_scored(tmp_path: Path) -> None:
    texts = list(load_task("toy-captions", None).sentences())
    cseb.embed("cseb-tiny", texts, out=tmp_path / "v.npz", pooler="mean", device="cpu")
    scores = [
        cseb.evaluate(encoder, "toy-captions", pooler=pooler, device="cpu")["toy-captions"]
        for encoder, pooler in (("cseb-tiny", "mean"), (str(tmp_path / "v.npz"), ""))
    ]
    assert scores[0] == pytest.approx(scores[1], abs=1e-4)


def test_first_numbers_length_1_and_half_precision() -> None:
    whole = np.asarray(cseb.embed("cseb-tiny", LINES, device="cpu"))
    first = cseb.embed("cseb-tiny", LINES, dimensions=16, normalize=True, dtype="float16", device="cpu").vectors
    expected = whole[:, :16] / np.linalg.norm(whole[:, :16], axis=1, keepdims=True)
    assert first.dtype == np.float16
    np.testing.assert_allclose(first, expected, atol=1e-3)
    result = call("embed", "cseb-tiny", "--dimensions", "2", "--device", "cpu", typed="\n".join(LINES))
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert [row["sentence"] for row in rows] == LINES
    np.testing.assert_allclose([row["vector"] for row in rows], whole[:, :2], atol=1e-6)


def test_an_interrupted_run_continues(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_cache, "BLOCK", 8)
    encoded: list[int] = []

    def lengths(texts: list[str]) -> np.ndarray:
        if len(encoded) == 5:  # three probes, and two blocks
            encoded.append(0)
            raise KeyboardInterrupt
        encoded.append(len(texts))
        return np.array([[len(text), 1.0] for text in texts])

    out = tmp_path / "v.parquet"
    with pytest.raises(KeyboardInterrupt):
        cseb.embed(lengths, LINES, out=out)
    assert not out.exists() and len(list((tmp_path / "v.parquet.blocks").rglob("*.npz"))) == 2
    cseb.embed(lengths, LINES, out=out)
    assert encoded == [3, 1, 1, 8, 8, 0, 3, 1, 1, 4]  # the rest alone
    assert read(out)[1][:, 0].tolist() == [len(text) for text in LINES]
    assert not (tmp_path / "v.parquet.blocks").exists()


@pytest.mark.parametrize("encoder", ["cseb-tiny", lambda texts: np.array([[len(text), 1.0] for text in texts])])
def test_progress_of_several_blocks_is_that_of_all_sentences(
    encoder: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_cache, "BLOCK", 8)
    values: list[tuple[str, int, int]] = []
    with listening(lambda *each: values.append(each)):
        cseb.embed(encoder, LINES, out=tmp_path / "v.npz", device="cpu")
    counts = [(done, total) for what, done, total in values if what == ENCODING and total == len(LINES)]
    assert counts[0] == (0, len(LINES)) and counts[-1] == (len(LINES), len(LINES)) and counts == sorted(counts)
    assert {8, 16} <= {done for done, _ in counts} and not any(total == 8 for _, _, total in values)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"out": "v.csv"}, BadSpec, "`out` is 'v.csv'; name a file ending in .parquet, .npz, .jsonl"),
        ({"out": "nowhere/v.npz"}, BadSpec, "in an existing folder"),
        ({"dimensions": 129}, BadSpec, "`dimensions` is 129; the vectors have 128 numbers"),
        ({"dtype": "int8"}, BadSpec, "allowed: 'float32', 'float16'"),
        ({"sentences": "nowhere.txt"}, BadData, "nowhere.txt"),
        ({"sentences": []}, CsebError, "no sentence"),
        ({"encoder": lambda texts: np.full((len(texts), 2), np.nan)}, CsebError, "no finite vector for 'a b'; remove"),
        ({"encoder": lambda texts: np.full((len(texts), 2), 1e9), "dtype": "float16"}, BadSpec, "too large for float1"),
    ],
)
def test_what_cannot_be_encoded_is_one_line(
    options: dict[str, object], error: type[Exception], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    settings = {"encoder": "cseb-tiny", "sentences": ["a b"], "device": "cpu", **options}
    with pytest.raises(error, match=words):
        cseb.embed(**settings)
    assert not list(tmp_path.iterdir())
