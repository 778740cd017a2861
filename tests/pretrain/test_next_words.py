"""Tests of pre-training a decoder: its rows, its loss, and the exported encoder."""

import argparse
import hashlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from benchmarks.pretrain.next_words import ASKED, Batch, Decoder, draw_rows
from benchmarks.pretrain.objective import on_device
from benchmarks.pretrain.rows import CLS, SEP, TokenisedText
from benchmarks.pretrain.wordpiece import train_tokenizer
from cseb import open_data
from cseb.data.weights import find_encoder
from tests.training.small_runs import encoder_in

ROOT = Path(__file__).parents[2]
PIECES = 300


@pytest.fixture(scope="module")
def text() -> TokenisedText:
    """30 documents of four sentences; a token is the place where it stands, so that rows show where they are from."""
    sentences = np.concatenate([[0], np.cumsum(np.random.default_rng(0).integers(3, 30, 120))])
    return TokenisedText(
        (5 + np.arange(sentences[-1])).astype(np.uint16),
        sentences,
        np.arange(0, 121, 4),
        np.ones(30, dtype=bool),
        np.ones(30),
    )


@pytest.mark.parametrize("length", [9, 33])
def test_rows_are_running_text_with_an_end_after_each_document(text: TokenisedText, length: int) -> None:
    rows = draw_rows(text, length, 50, np.random.default_rng(0))
    assert rows.shape == (50, length) and (rows[:, 0] == CLS).all()
    stream = rows[:, 1:].flatten()
    ends = set(text.ids[text.sentences[text.documents[1:]] - 1].tolist())
    starts = set(text.ids[text.sentences[text.documents[:-1]]].tolist())
    assert stream[0] in starts
    for word, following in zip(stream[:-1].tolist(), stream[1:].tolist(), strict=True):
        if word == SEP:
            assert following in starts
        else:
            assert following == (SEP if word in ends else word + 1)
    assert np.array_equal(rows, draw_rows(text, length, 50, np.random.default_rng(0)))


@torch.no_grad()
def test_the_loss_is_that_of_the_words_behind_a_quarter_of_the_tokens() -> None:
    kind, rng = Decoder(2, 16, 2), np.random.default_rng(0)
    model = kind.model(argparse.Namespace(seed=0, dropout=0.0), PIECES)  # without dropout, as it trains
    batch = on_device(kind.batch(rng.integers(5, PIECES, (6, 17)).astype(np.uint16), PIECES, rng), "cpu")
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
    changed = Decoder(2, 16, 2).tokenizer(tokenizer)
    bare = changed("a man walks", add_special_tokens=False)["input_ids"]
    assert changed("a man walks")["input_ids"] == [CLS, *bare]
    assert (changed.bos_token_id, changed.eos_token_id, changed.pad_token_id) == (CLS, SEP, 0)
    assert changed.mask_token_id is None


@pytest.mark.slow
def test_a_decoder_is_trained_and_exported(tmp_path: Path) -> None:
    content = "".join(f"{line}\n" for line in open_data.lines("corpora/wikipedia.txt")[:4000]).encode()
    (tmp_path / "wiki_all.txt").write_bytes(content)
    listed = tmp_path / "list.yaml"
    listed.write_text(f"wiki_all: {{text: running, used: true, sha256: {hashlib.sha256(content).hexdigest()}}}\n")
    sources = ["--sources-folder", tmp_path, "--sources", listed]
    run("text", *sources, "--out", tmp_path / "text", "--pieces", 600)
    options = ["--text", tmp_path / "text", "--size", "tiny-decoder", "--tokens", 1024, "--look-every", 20]
    run("vectors", tmp_path / "text")
    run("train", *options, "--out", tmp_path / "run", "--until", 0.05)
    run("train", *options, "--out", tmp_path / "decayed", "--decay-from", tmp_path / "run")
    log = (tmp_path / "decayed" / "log.csv").read_text().splitlines()
    assert log[0] == 'step,tokens,next-word loss,"next words, accuracy"'
    assert float(log[-1].split(",")[2]) < float(log[1].split(",")[2])
    (tmp_path / "data" / "STS").mkdir(parents=True)
    shipped = tmp_path / "our-decoder"
    run("export", tmp_path / "decayed", *sources, "--evaluation", tmp_path / "data", "--to", shipped)
    card = (shipped / "README.md").read_text()
    assert "A decoder in the architecture of Llama of 2 layers x 128" in card and "| likeliest next words |" in card
    model, tokenizer = AutoModelForCausalLM.from_pretrained(shipped), AutoTokenizer.from_pretrained(shipped)
    ids = tokenizer(["the man"], return_tensors="pt")["input_ids"]
    assert model.config.vocab_size == len(tokenizer) == 600 and model(input_ids=ids).logits.isfinite().all()
    weights, _ = find_encoder(str(shipped))
    encoder = encoder_in(weights, "mean+last")
    state = model.model(input_ids=ids).last_hidden_state[0, -1].detach().numpy()
    assert np.allclose(encoder.embed(["the man"])[0], state, atol=1e-5)


def run(module: str, *arguments: object) -> None:
    command = [sys.executable, "-m", f"benchmarks.pretrain.{module}", *map(str, arguments)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
