"""Sentences in, vectors out, as in a notebook."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

import cseb
from cseb.embedders import find
from cseb.embedders.interface import EncoderOptions
from cseb.errors import BadData, BadResults, BadSpec, CsebError, TrainingFailed
from tests.command_line import printed
from tests.conftest import SENTENCES

SCALE = "recipe(batch_size=32,learning_rate=3e-3,eval_every=2)"
METHOD = f"simcse+{SCALE}"


@pytest.fixture(scope="module")
def trained() -> cseb.TrainedEncoder:
    return cseb.train("simcse", SENTENCES, encoder="cseb-tiny", steps=4, scale=SCALE, dev="toy-dev")


def test_a_list_of_strings_becomes_an_encoder(trained: cseb.TrainedEncoder) -> None:
    vectors = trained.encode(["a man is eating", "the dog"])
    assert vectors.shape == (2, 128)
    assert vectors.dtype == np.float32
    assert trained.encode([]).shape == (0, 128)
    assert [step for step, _, _ in trained.curve] == [2, 4]
    assert all(dev is not None for _, _, dev in trained.curve)
    assert trained.best_step in (2, 4)
    assert (trained.sentences, trained.seed, trained.base) == (len(SENTENCES), 0, "cseb-tiny")
    assert "steps=4" in trained.resolved
    assert len(repr(trained)) < 300


def test_the_bits_are_those_of_cseb_run(tmp_path: Path) -> None:
    corpus, results = tmp_path / "mine.txt", tmp_path / "results"
    corpus.write_text("\n".join(SENTENCES), encoding="utf-8")
    words = ["run", "--methods", METHOD, "--encoder", "cseb-tiny", "--corpus", str(corpus), "--sizes", len(SENTENCES)]
    words += ["--seeds", "2", "--steps", "4", "--tasks", "toy-captions", "--dev", "toy-dev", "--workers", "1"]
    printed(*words, "--save-models", "--device", "cpu", "--results", str(results))
    [record] = [each for each in cseb.load(results) if each.seed == 1]
    encoder = cseb.train(
        METHOD, SENTENCES, encoder="cseb-tiny", steps=4, seed=1, dev="toy-dev", device="cpu",
        scale="queue(size=64)",  # of the demo's, a part that this method does not have
    )  # fmt: skip
    assert encoder.curve == record.trace.curve
    assert encoder.best_step == record.trace.best_step
    assert encoder.resolved == record.resolved
    saved = find(record.key, EncoderOptions(results=results)).open()
    assert np.array_equal(encoder.encode(SENTENCES), saved(SENTENCES))


def test_a_corpus_by_name_is_the_same_as_its_sentences(tmp_path: Path) -> None:
    corpus = tmp_path / "mine.txt"
    corpus.write_text("\n".join(SENTENCES), encoding="utf-8")
    by_name, by_list = (cseb.train(METHOD, given, encoder="cseb-tiny", steps=1) for given in (str(corpus), SENTENCES))
    assert np.array_equal(by_name.encode(SENTENCES), by_list.encode(SENTENCES))


def test_a_saved_encoder_is_read_by_cseb_and_by_transformers(trained: cseb.TrainedEncoder, tmp_path: Path) -> None:
    from transformers import AutoModel

    folder = trained.save(tmp_path / "mine")
    assert AutoModel.from_pretrained(folder).config.hidden_size == 128
    read = find(str(folder), EncoderOptions()).open()
    assert np.array_equal(read(SENTENCES), trained.encode(SENTENCES))
    trained.save(folder)  # one of ours may be replaced


def test_nothing_of_the_users_is_overwritten(trained: cseb.TrainedEncoder, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(BadResults, match="name another folder"):
        trained.save(tmp_path)
    with pytest.raises(BadResults, match="name another folder"):
        trained.save(tmp_path / "thesis.tex")
    assert (tmp_path / "thesis.tex").read_text() == "years of work"
    with pytest.raises(BadResults, match="cannot be written"):
        trained.save(tmp_path / "thesis.tex" / "mine")


def test_the_session_keeps_its_threads_and_its_random_numbers() -> None:
    threads = torch.get_num_threads()
    torch.manual_seed(7)
    expected = torch.rand(1)
    torch.manual_seed(7)
    cseb.train(METHOD, SENTENCES, encoder="cseb-tiny", steps=1, threads=2)
    assert torch.get_num_threads() == threads
    assert torch.rand(1) == expected


def test_blank_and_repeated_lines_are_noted(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("\n".join([*SENTENCES, "", SENTENCES[0]]), encoding="utf-8")
    notes = cseb.train(METHOD, tmp_path / "mine.txt", encoder="cseb-tiny", steps=1).notes
    assert "1 blank line left out" in " ".join(notes) and "1 of " in " ".join(notes)


def test_progress_is_shown_on_request(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cseb.commands.screen.BETWEEN", 0.001)
    cseb.train(METHOD, SENTENCES, encoder="cseb-tiny", steps=2, progress=True)
    said = capsys.readouterr()
    assert said.err.startswith("cseb: ")
    assert said.out == ""


@pytest.mark.parametrize("folder", [".", ""])
def test_the_current_folder_is_not_replaced(
    trained: cseb.TrainedEncoder, folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadResults, match="is the current folder, which cannot be replaced; name another one"):
        trained.save(folder)


def test_a_model_is_saved_where_a_link_leads(trained: cseb.TrainedEncoder, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to("there")
    trained.save(tmp_path / "link")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "there" / "config.json").is_file()


def test_threads_train_and_encode_one_after_another(trained: cseb.TrainedEncoder) -> None:
    """Numbers of threads and of batches, and dropout, were those of whichever thread came last."""
    expected = trained.encode(SENTENCES)
    alone = cseb.train(METHOD, SENTENCES, encoder="cseb-tiny", steps=3).encode(SENTENCES)

    def beside(seed: int) -> np.ndarray:
        return cseb.train(METHOD, SENTENCES, encoder="cseb-tiny", steps=3, seed=seed).encode(SENTENCES)

    with ThreadPoolExecutor(6) as pool:
        trainings = [pool.submit(beside, seed) for seed in (0, 1)]
        encodings = [pool.submit(trained.encode, SENTENCES) for _ in range(40)]
        assert np.array_equal(trainings[0].result(), alone)
        assert all(np.array_equal(each.result(), expected) for each in encodings)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"sentences": "a sentence"}, BadData, "`sentences` is the text 'a sentence'; give a list of strings"),
        ({"sentences": ["fine", 3]}, BadData, "sentence 1 is int '3'"),
        ({"sentences": []}, BadData, "no sentence"),
        ({"sentences": None}, BadData, "NoneType is given where a list of strings is needed"),
        ({"sentences": {"text": SENTENCES}}, BadData, "a table is given"),
        ({"sentences": pd.DataFrame({"text": SENTENCES})}, BadData, "one of its columns"),
        ({"sentences": (text for text in SENTENCES[:3])}, CsebError, "fewer than one batch of 32"),
        ({"sentences": SENTENCES[:3]}, CsebError, "fewer than one batch of 32"),
        ({"method": "simsce"}, CsebError, "did you mean simcse"),
        ({"encoder": "no/such"}, BadData, "no/such"),
        ({"seed": -1}, BadSpec, "a whole number of at least 0"),
        ({"steps": "20"}, BadSpec, "`steps` is '20'; it must be a whole number"),
        ({"device": "gpu"}, BadSpec, "'cuda'"),
        ({"dev": "toy-de"}, CsebError, "toy-dev"),
        ({"method": METHOD.replace("3e-3", "1e30")}, TrainingFailed, "stopped at step"),
    ],
)
def test_what_cannot_be_is_one_line(options: dict[str, object], error: type[Exception], words: str) -> None:
    given = {"method": METHOD, "sentences": SENTENCES, "encoder": "cseb-tiny", "steps": 20} | options
    with pytest.raises(error, match=words):
        cseb.train(**given)
