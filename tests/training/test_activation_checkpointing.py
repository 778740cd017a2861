"""`recipe(activation_checkpointing=true)`: the same loss and gradient, bit by bit on a CPU, dropout included."""

import re
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from cseb.encoder import linear, packing
from cseb.encoder.recomputing import recompute_layers
from cseb.errors import BadSpec
from cseb.methods.grammar import parse_method
from cseb.training.build import build, check
from tests.encoder.test_decoders import decoder
from tests.training.small_runs import TRAINED, Tiny, encoder_in, first_gradients, method

__all__ = ["decoder"]  # the fixture
ON = "activation_checkpointing=true"
REFUSED = {"scd": "multi_dropout, which changes the layers", "l2p-csr": "learnt_mask_nce, which changes the layers"}
QUICK = ("simcse", "ct", "tsdae", "promcse", "consert", "micse")


def assert_same_bits(gradients: Callable[[str], dict[str, Tensor]], options: str = "dropout=0.1") -> None:
    plain, recomputed = gradients(options), gradients(f"{options},{ON}")
    assert plain.keys() == recomputed.keys()
    assert all(torch.equal(plain[weight], recomputed[weight]) for weight in plain)


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in TRAINED if name not in REFUSED],
)
def test_the_gradient_of_every_method_has_the_same_bits(tiny: Tiny, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    assert_same_bits(lambda options: first_gradients(tiny, monkeypatch, name, options), "chunk=0")


@pytest.mark.parametrize("family", ["roberta", "modernbert", "distilbert"])
@pytest.mark.parametrize("name", ["simcse", "simcse+ami"])
def test_other_encoders(tiny: Tiny, monkeypatch: pytest.MonkeyPatch, family: str, name: str) -> None:
    assert_same_bits(lambda options: first_gradients(tiny, monkeypatch, name, options, family))


@pytest.mark.parametrize("family", ["llama", "gpt2"])
def test_decoders(decoder: Tiny, monkeypatch: pytest.MonkeyPatch, family: str) -> None:
    assert_same_bits(lambda options: first_gradients(decoder, monkeypatch, "simcse+last", options, family))


@pytest.mark.parametrize("name", ["simcse", "simcse+ami", "simcse+drophead"])
def test_padded_batches_and_chunks(tiny: Tiny, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(packing, "packs", lambda backbone: False)
    for options in ("dropout=0.1", "dropout=0.1,chunk=5"):
        assert_same_bits(lambda options: first_gradients(tiny, monkeypatch, name, options), options)


@pytest.mark.skipif(not linear.available(), reason="no oneDNN")
@pytest.mark.parametrize("name", ["simcse", "simcse+ami+moco", "diffcse"])
def test_repetition_takes_the_library_of_the_forward(tiny: Tiny, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    libraries = []
    product = linear._product
    monkeypatch.setattr(linear, "_product", lambda *given: libraries.append("onednn") or product(*given))
    with linear.taking("onednn"):
        assert_same_bits(lambda options: first_gradients(tiny, monkeypatch, name, options))
    assert libraries


def test_the_repetition_takes_the_attention_kernel_of_the_forward_pass(tiny: Tiny) -> None:
    backbone = encoder_in(tiny("bert"), "cls").backbone.train()
    recompute_layers(backbone)
    kernels: list[str] = []
    for layer in backbone.encoder.layer:
        layer.attention.register_forward_pre_hook(lambda *_: kernels.append(backbone.config._attn_implementation))
    ids = torch.arange(12).view(2, 6)
    losses = []
    for kernel in ("eager", "sdpa"):  # as GPUs take them, by whether attention maps are read
        backbone.config._attn_implementation = kernel
        losses.append(backbone(input_ids=ids, attention_mask=torch.ones_like(ids)).last_hidden_state.sum())
    for loss in losses:
        loss.backward()
    assert kernels == ["eager", "eager", "sdpa", "sdpa"] * 2
    assert backbone.config._attn_implementation == "sdpa"


def numbers_stored(tiny: Tiny, name: str, options: str) -> int:
    """Size of what a forward pass stores for the backward pass."""
    encoder, sizes = build(method(name, f"recipe({options})"), tiny("bert"), 0).encoder.train(), list[int]()
    ids = torch.arange(192).view(16, 12) % 20
    with torch.autograd.graph.saved_tensors_hooks(lambda x: sizes.append(x.numel()) or x, lambda x: x):
        encoder(ids, torch.ones_like(ids), torch.ones_like(ids), ids[:, 0])
    return sum(sizes)


@pytest.mark.parametrize("name", ["simcse", "simcse+ami"])
def test_a_layer_stores_its_input_alone(tiny: Tiny, name: str) -> None:
    assert numbers_stored(tiny, name, f"dropout=0.1,{ON}") < 0.5 * numbers_stored(tiny, name, "dropout=0.1")


@pytest.mark.parametrize("name", REFUSED)
def test_parts_that_change_the_layers_are_refused(tiny: Tiny, name: str) -> None:
    with pytest.raises(BadSpec, match=re.escape(REFUSED[name])):
        check(parse_method(f"{name}+recipe({ON})").at(1.0), tiny("bert"))


def test_encoders_that_transformers_cannot_repeat_are_refused(tiny: Tiny) -> None:
    method = parse_method(f"simcse+recipe({ON})").at(1.0)
    with pytest.raises(BadSpec, match="activation_checkpointing=true is not possible with MPNetModel, of which"):
        check(method, tiny("mpnet"))
    with pytest.raises(BadSpec, match="take chunk"):  # as for an encoder with code of its own, known when it is loaded
        recompute_layers(torch.nn.Linear(2, 2))
