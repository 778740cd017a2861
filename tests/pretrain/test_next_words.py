"""What a small decoder is pre-trained on: its rows, the words that are asked for, and the encoder that comes of it."""

import argparse
import hashlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from benchmarks.pretrain.next_words import ASKED, Batch, Decoder, rows_of_pass
from benchmarks.pretrain.rows import CLS, SEP, TokenisedText
from benchmarks.pretrain.wordpiece import train_tokenizer
from cseb import open_data
from cseb.data.weights import find_encoder
from cseb.methods.grammar import parse_method
from cseb.training.build import build

ROOT = Path(__file__).parents[2]
PIECES = 300


@pytest.fixture(scope="module")
def text() -> TokenisedText:
    """30 documents of four sentences; every token is its place, so that rows tell where they are from."""
    sentences = np.concatenate([[0], np.cumsum(np.random.default_rng(0).integers(3, 30, 120))])
    return TokenisedText(
        (5 + np.arange(sentences[-1])).astype(np.uint16), sentences, np.arange(0, 121, 4), np.ones(30, dtype=bool)
    )


@pytest.mark.parametrize("length", [9, 33])
def test_a_pass_is_every_document_once_with_an_end_behind_it(text: TokenisedText, length: int) -> None:
    (rows,) = rows_of_pass(text, length, 0, 0)
    assert rows.shape[1] == length and (rows[:, 0] == CLS).all()
    stream = rows[:, 1:].flatten()
    words = stream[stream != SEP]
    assert len(words) == len(set(words.tolist())) >= len(text.ids) - 2 * length
    ends = set(text.ids[text.sentences[text.documents[1:]] - 1].tolist())
    for word, following in zip(stream[:-1].tolist(), stream[1:].tolist(), strict=True):
        assert (following == SEP) if word in ends else word == SEP or following == word + 1


def test_passes_differ_and_come_back(text: TokenisedText) -> None:
    (one,), (again,), (other,) = (rows_of_pass(text, 33, 0, number) for number in (0, 0, 1))
    assert np.array_equal(one, again) and not np.array_equal(one[: len(other)], other[: len(one)])


@torch.no_grad()
def test_the_loss_is_that_of_the_words_behind_a_quarter_of_the_tokens() -> None:
    kind, rng = Decoder(2, 16, 2), np.random.default_rng(0)
    model = kind.model(argparse.Namespace(seed=0, dropout=0.0), PIECES)  # without dropout, as it trains
    batch = kind.batch(rng.integers(5, PIECES, (6, 17)).astype(np.uint16), PIECES, rng)
    assert batch.places.shape == (6, round(ASKED * 16)) and all(len(set(row.tolist())) == 4 for row in batch.places)
    loss, shown, scores, asked = kind.losses(model)(batch)
    scored = model(input_ids=batch.ids).logits.log_softmax(-1)
    one_by_one = [
        -float(scored[row, place, batch.ids[row, place + 1]])
        for row, places in enumerate(batch.places.tolist())
        for place in places
    ]
    assert float(loss) == float(shown) == pytest.approx(np.mean(one_by_one), rel=1e-5)
    assert (
        scores.shape == (24, PIECES)
        and asked.tolist() == torch.gather(batch.ids, 1, batch.places + 1).flatten().tolist()
    )
    other = Batch(batch.ids.index_fill(1, torch.tensor([16]), 7), batch.places.clamp(max=10))
    same = Batch(batch.ids, other.places)
    assert float(kind.losses(model)(other)[0]) == float(kind.losses(model)(same)[0]), "no token sees those behind it"


def test_a_text_begins_with_its_mark_and_nothing_is_appended() -> None:
    tokenizer = train_tokenizer(["a man walks", "a dog sleeps"], 200, 64)
    found = Decoder(2, 16, 2).tokenizer(tokenizer)
    bare = found("a man walks", add_special_tokens=False)["input_ids"]
    assert found("a man walks")["input_ids"] == [CLS, *bare]
    assert (found.bos_token_id, found.eos_token_id, found.pad_token_id, found.mask_token_id) == (CLS, SEP, 0, None)


@pytest.mark.slow
def test_a_decoder_is_trained_killed_or_not_and_exported(tmp_path: Path) -> None:
    content = "".join(f"{line}\n" for line in open_data.lines("corpora/wikipedia.txt")[:4000]).encode()
    (tmp_path / "wiki_all.txt").write_bytes(content)
    listed = tmp_path / "list.yaml"
    listed.write_text(f"wiki_all: {{text: running, used: true, sha256: {hashlib.sha256(content).hexdigest()}}}\n")
    sources = ["--text", str(tmp_path), "--sources", str(listed)]
    options = ["--size", "tiny-decoder", "--pieces", "600", "--tokens", "1024", "--look-every", "20"]
    train = [sys.executable, "-m", "benchmarks.pretrain.train", *sources, *options]
    for folder, stops in (("whole", ["0"]), ("parts", ["7", "25", "0"])):
        for stop in stops:
            command = [*train, "--out", str(tmp_path / folder), "--stop-after", stop]
            subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    whole, parts = (tmp_path / name / "encoder" / "model.safetensors" for name in ("whole", "parts"))
    assert whole.read_bytes() == parts.read_bytes()
    log = (tmp_path / "whole" / "log.csv").read_text().splitlines()
    assert log[0] == 'step,tokens,next-word loss,"next words, accuracy"'
    assert float(log[-1].split(",")[2]) < float(log[1].split(",")[2])
    (tmp_path / "data" / "STS").mkdir(parents=True)
    shipped = tmp_path / "our-decoder"
    export = [sys.executable, "-m", "benchmarks.pretrain.export", str(tmp_path / "whole"), *sources]
    export += ["--evaluation", str(tmp_path / "data"), "--to", str(shipped)]
    subprocess.run(export, cwd=ROOT, check=True, capture_output=True)
    card = (shipped / "README.md").read_text()
    assert "A decoder in the architecture of Llama of 2 layers x 128" in card and "| likeliest next words |" in card
    model, tokenizer = AutoModelForCausalLM.from_pretrained(shipped), AutoTokenizer.from_pretrained(shipped)
    ids = tokenizer(["the man"], return_tensors="pt")["input_ids"]
    assert model.config.vocab_size == len(tokenizer) == 600 and model(input_ids=ids).logits.isfinite().all()
    found, _ = find_encoder(str(shipped))
    encoder = build(parse_method("mean+last").at(1.0), found, seed=0).encoder
    state = model.model(input_ids=ids).last_hidden_state[0, -1].detach().numpy()
    assert np.allclose(encoder.embed(["the man"])[0], state, atol=1e-5)
