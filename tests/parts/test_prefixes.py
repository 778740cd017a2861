"""Prefixes in front of every layer: attention in loops, what moves and what does not, positions, what is refused."""

import copy
import math
from pathlib import Path

import numpy as np
import pytest
import torch

from cseb.commands.train import train as train_encoder
from cseb.encoder import packing
from cseb.encoder.encoder import Encoder
from cseb.errors import BadResults
from cseb.training.checkpoints import restore
from tests.conftest import SENTENCES
from tests.training.small_runs import Tiny, built_of, encoder_in, run

RECIPE = "recipe(steps=2,warmup=0,batch_size=8,learning_rate=3e-2,eval_every=1)"
FAMILIES = ("bert", "roberta")


def prefixed(folder: Path, more: str = "") -> Encoder:
    text = f"simcse+mean+none+prefix(length=3{more})+{RECIPE}"
    return encoder_in(folder, text).eval()


def by_hand(attention: torch.nn.Module, table: torch.Tensor, x: torch.Tensor, real: int) -> torch.Tensor:
    """Every token of one sentence (T, D) attends to P prefixes and to the `real` first tokens, head by head."""
    q, k, v = attention.query(x), attention.key(x)[:real], attention.value(x)[:real]
    keys, values = torch.cat([table[0], k]), torch.cat([table[1], v])
    heads = []
    for own in torch.arange(x.shape[1]).chunk(attention.num_attention_heads):
        weights = (q[:, own] @ keys[:, own].T / math.sqrt(len(own))).softmax(dim=1)
        heads.append(weights @ values[:, own])
    return torch.cat(heads, dim=1)


@pytest.mark.parametrize("family", FAMILIES)
def test_attention_equals_its_loops_and_nobody_attends_to_padding(tiny: Tiny, family: str) -> None:
    encoder = prefixed(tiny(family))
    attention = encoder.attentions()[1]
    seen: list[tuple[torch.Tensor, torch.Tensor]] = []
    attention.register_forward_hook(
        lambda module, args, kwargs, output: seen.append((kwargs["hidden_states"], output[0])), with_kwargs=True
    )
    tokens = encoder.tokenise(SENTENCES[:4], 16)
    batch = tokens.batch(np.arange(2), 12)
    assert batch.mask.min() == 0
    with torch.no_grad():
        encoder.read(torch.from_numpy(batch.ids), torch.from_numpy(batch.mask))
        ((x, result),) = seen
        for row in range(2):
            real = int(batch.mask[row].sum())
            wanted = by_hand(attention, encoder.backbone.prefix.table[1], x[row], real)
            assert torch.allclose(result[row, :real], wanted[:real], atol=1e-5)


def test_a_sentence_has_the_same_vector_alone_and_beside_longer_ones(tiny: Tiny) -> None:
    encoder = prefixed(tiny("bert"))
    assert not packing.packs(encoder.backbone)  # the walk without padding knows of no prefixes
    alone = np.concatenate([encoder.embed([sentence]) for sentence in SENTENCES[:6]])
    assert np.allclose(encoder.embed(SENTENCES[:6]), alone, atol=1e-6)


def test_only_prefixes_and_head_move_and_the_bits_are_the_same_twice(tiny: Tiny) -> None:
    results = []
    for _ in range(2):
        built = built_of(tiny, f"promcse+prefix(length=3)+{RECIPE}")
        start = {name: value.clone() for name, value in built.encoder.state_dict().items()}
        results.append(run(built))
    once, twice = results
    assert all(torch.equal(once.last[name], twice.last[name]) for name in once.last)
    moved = {name for name, value in once.last.items() if not torch.equal(value, start[name])}
    assert "backbone.prefix.table" in moved
    assert {name.split(".")[0] for name in moved - {"backbone.prefix.table"}} == {"head"}
    again = prefixed(tiny("bert"))
    untrained = again.embed(SENTENCES)
    restore(again, once.last)
    assert not np.allclose(again.embed(SENTENCES), untrained, atol=1e-3)


def test_dropout_on_prefixes_differs_between_sentences_and_ends_with_training(tiny: Tiny) -> None:
    table = prefixed(tiny("bert"), ",dropout=0.5").backbone.prefix
    entries = table.before(0, 2, 2)
    assert torch.equal(entries.key[0], entries.key[1])
    assert entries.key[0].transpose(0, 1).flatten(1).equal(table.table[0, 0])
    assert entries.value[0].transpose(0, 1).flatten(1).equal(table.table[0, 1])
    dropped = table.train().before(0, 2, 2)
    assert not torch.equal(dropped.key[0], dropped.key[1])
    kept = dropped.key != 0
    assert torch.allclose(dropped.key[kept], 2 * entries.key[kept])


@pytest.mark.parametrize("family", FAMILIES)
def test_positions_start_behind_the_prefixes_if_asked(tiny: Tiny, family: str) -> None:
    folder = tiny(family)
    plain = encoder_in(folder).eval()
    for shifts, apart in (("true", 3), ("false", 0)):
        encoder = prefixed(folder, f",shift_positions={shifts}")
        ids = torch.from_numpy(encoder.tokenise(SENTENCES[:1], 16).batch(np.arange(1), 0).ids)
        with torch.no_grad():
            result = encoder.backbone.embeddings(ids)
            moved = plain.backbone.embeddings(ids, past_key_values_length=apart)
        assert torch.equal(result, moved)
        assert encoder.limit() == plain.limit() - apart
        assert encoder.embed([" ".join(SENTENCES)]).shape == plain.embed([" ".join(SENTENCES)]).shape
    assert encoder_in(folder).limit() == plain.limit()  # its tokenizer is its own


def test_a_copy_of_the_encoder_has_prefixes_of_its_own(tiny: Tiny) -> None:
    encoder = prefixed(tiny("bert"))
    copied = copy.deepcopy(encoder)
    with torch.no_grad():
        copied.backbone.prefix.table.mul_(50)
    assert not np.allclose(copied.embed(SENTENCES), encoder.embed(SENTENCES), atol=1e-3)


def test_a_trained_encoder_cannot_be_saved(tiny: Tiny, tmp_path: Path) -> None:
    text = f"promcse+prefix(length=3)+{RECIPE}"
    trained = train_encoder(text, SENTENCES, encoder=str(tiny("bert")))
    assert trained.encode(SENTENCES[:2]).shape[0] == 2
    with pytest.raises(BadResults, match="cannot be saved: sentence-transformers cannot load what prefix adds"):
        trained.save(tmp_path / "model")
    assert not (tmp_path / "model").exists()
