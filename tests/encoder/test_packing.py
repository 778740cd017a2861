"""Packed batches: states, maps and gradients are those of the library's own code on the padded batch."""

import copy
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from transformers import (
    BertConfig,
    BertModel,
    DistilBertConfig,
    DistilBertModel,
    ElectraConfig,
    ElectraModel,
    ModernBertConfig,
    ModernBertModel,
    MPNetConfig,
    MPNetModel,
    RobertaConfig,
    RobertaModel,
)

from cseb.encoder import packing
from cseb.encoder.packing import outputs

LENGTHS = (5, 12, 5, 3, 12, 1, 9)
SIZES: dict[str, Any] = {
    **{"vocab_size": 60, "hidden_size": 32, "num_attention_heads": 4, "intermediate_size": 48},
    **{"num_hidden_layers": 3, "max_position_embeddings": 40},
}
DRY: dict[str, Any] = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
MODERN: dict[str, Any] = {
    **{"local_attention": 8, "global_attn_every_n_layers": 2},  # a window of 4 to each side, seen by sentences of 12
    **{"pad_token_id": 0, "cls_token_id": 1, "bos_token_id": 1, "eos_token_id": 2, "sep_token_id": 2},
}
FAMILIES: dict[str, tuple[Any, Any]] = {
    "bert": (BertModel, lambda: BertConfig(**SIZES, **DRY)),
    "roberta": (RobertaModel, lambda: RobertaConfig(**SIZES, **DRY)),
    "mpnet": (MPNetModel, lambda: MPNetConfig(**SIZES, **DRY)),
    "modernbert": (ModernBertModel, lambda: ModernBertConfig(**SIZES, **MODERN)),
    "electra": (ElectraModel, lambda: ElectraConfig(**SIZES, **DRY, embedding_size=16)),
}


def made(family: str, attention: str = "eager") -> Any:
    """An encoder of this family in training mode, without dropout, no weight near 0."""
    kind, config = FAMILIES[family]
    settings = config()
    settings._attn_implementation = attention
    torch.manual_seed(0)
    model = kind(settings).train()
    for weight in model.parameters():
        nn.init.normal_(weight, std=0.2)
    if family == "modernbert" and not hasattr(model.layers[0], "attention_type"):
        pytest.skip("ModernBERT of an older library gets the padded batch")
    return model


def batch(model: Any, lengths: tuple[int, ...] = LENGTHS) -> tuple[Tensor, Tensor]:
    mask = (torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]).long()
    draws = torch.Generator().manual_seed(1)
    ids = torch.randint(3, SIZES["vocab_size"], mask.shape, generator=draws)
    return torch.where(mask == 1, ids, torch.tensor(model.config.pad_token_id)), mask


def library(model: Any, ids: Tensor, mask: Tensor) -> Any:
    """What the library makes of the padded batch."""
    asked = {"output_hidden_states": True, "output_attentions": True, "return_dict": True}
    return model(input_ids=ids, attention_mask=mask, **asked)


def gradients(model: Any, outputs: Any, mask: Tensor) -> dict[str, Tensor]:
    """Of a sum over all that can be seen of real tokens, each with a weight of its own."""
    draws, real = torch.Generator().manual_seed(2), mask[:, :, None].float()
    square = (real * real.mT)[:, None]
    told = [*(states * real for states in outputs.hidden_states), *(states * square for states in outputs.attentions)]
    model.zero_grad()
    sum((states * torch.randn(states.shape, generator=draws)).sum() for states in told).backward()
    return {name: weight.grad for name, weight in model.named_parameters() if weight.grad is not None}


def packs(model: Any, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Numbers of tokens that are packed from now on."""
    seen: list[int] = []
    walked = packing._forward

    def watched(backbone: Any, packed: Any, layers: bool) -> Any:
        seen.append(len(packed.ids))
        return walked(backbone, packed, layers)

    monkeypatch.setattr(packing, "_forward", watched)
    return seen


@pytest.mark.parametrize("padding", [False, True])
@pytest.mark.parametrize("family", FAMILIES)
def test_states_and_maps_equal_the_padded_batch(family: str, padding: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """padding: it is read, and is as the library has it; else it is 0."""
    model = made(family)
    ids, mask = batch(model)
    theirs = library(model, ids, mask)
    assert packing._supported(model)
    seen = packs(model, monkeypatch)
    ours = outputs(model, ids, mask, padding=padding, layers=True, maps=True)
    assert seen == [ids.numel() if padding else sum(LENGTHS)]
    real = torch.ones(*ids.shape, 1) if padding else mask[:, :, None].float()
    torch.testing.assert_close(ours.last_hidden_state, theirs.last_hidden_state * real, rtol=0, atol=1e-6)
    for packed, padded in zip(ours.hidden_states, theirs.hidden_states, strict=True):
        torch.testing.assert_close(packed, padded * real, rtol=0, atol=1e-6)
    for packed, padded in zip(ours.attentions, theirs.attentions, strict=True):
        torch.testing.assert_close(packed, padded * (real * real.mT)[:, None], rtol=0, atol=1e-6)
    if ours.pooler_output is not None:
        torch.testing.assert_close(ours.pooler_output, theirs.pooler_output, rtol=0, atol=1e-6)


@pytest.mark.parametrize("family", FAMILIES)
def test_gradients_are_those_of_the_padded_batch(family: str) -> None:
    model = made(family)
    ids, mask = batch(model)
    theirs = gradients(model, library(model, ids, mask), mask)
    ours = gradients(model, outputs(model, ids, mask, layers=True, maps=True), mask)
    assert ours.keys() == theirs.keys()
    largest = max(float(gradient.abs().max()) for gradient in theirs.values())
    for name, gradient in ours.items():
        torch.testing.assert_close(gradient / largest, theirs[name] / largest, rtol=0, atol=1e-6)


@pytest.mark.parametrize("family", FAMILIES)
def test_at_test_without_maps_states_are_the_same(family: str) -> None:
    model = made(family, "sdpa" if family != "mpnet" else "eager").eval()
    ids, mask = batch(model, (12, 12, 7))
    with torch.inference_mode():
        ours, theirs = outputs(model, ids, mask), model(input_ids=ids, attention_mask=mask)
    assert ours.hidden_states is None
    assert ours.attentions is None
    real = mask[:, :, None].float()
    torch.testing.assert_close(ours.last_hidden_state, theirs.last_hidden_state * real, rtol=0, atol=1e-6)


@pytest.mark.parametrize("family", ["bert", "roberta", "mpnet"])
def test_a_padding_token_or_a_mask_of_0_inside_a_sentence_is_as_the_library_has_it(family: str) -> None:
    model = made(family)
    ids, mask = batch(model)
    if family == "bert":
        mask[1, :3], mask[4, 5] = 0, 0
    else:  # positions pass it over
        ids[1, 4] = model.config.pad_token_id
    ours, theirs = outputs(model, ids, mask), library(model, ids, mask)
    torch.testing.assert_close(ours.last_hidden_state, theirs.last_hidden_state * mask[:, :, None], rtol=0, atol=1e-6)


def test_dropout_is_where_the_library_has_it_and_follows_the_generator() -> None:
    model = made("bert")
    ids, mask = batch(model)
    still = outputs(model, ids, mask).last_hidden_state
    places = [module for module in model.modules() if isinstance(module, nn.Dropout)]
    assert len(places) == 1 + 3 * SIZES["num_hidden_layers"]
    for place in places:
        place.p = 0.5
        torch.manual_seed(0)
        first, other = (outputs(model, ids, mask).last_hidden_state for _ in range(2))
        torch.manual_seed(0)
        assert torch.equal(outputs(model, ids, mask).last_hidden_state, first)
        assert not torch.equal(first, other)
        assert not torch.equal(first, still)
        place.p = 0.0
    assert torch.equal(outputs(model, ids, mask).last_hidden_state, still)
    model.eval()
    for place in places:
        place.p = 0.5
    torch.testing.assert_close(outputs(model, ids, mask).last_hidden_state, still, rtol=0, atol=1e-6)


def test_hooks_see_the_padded_batch() -> None:
    model = made("bert")
    ids, mask = batch(model)
    seen: list[torch.Size] = []
    handle = model.embeddings.register_forward_hook(lambda module, inputs, states: seen.append(states.shape))
    output = outputs(model, ids, mask).last_hidden_state
    handle.remove()
    assert seen == [torch.Size([7, 12, 32])]
    assert output[0, -1].abs().sum() > 0  # padding, as the library has it
    assert outputs(model, ids, mask).last_hidden_state[0, -1].abs().sum() == 0


def test_hooks_by_which_the_library_collects_layers_do_no_harm() -> None:
    model = made("bert")
    ids, mask = batch(model)
    library(model, ids, mask)  # newer ones leave hooks behind
    assert outputs(model, ids, mask).last_hidden_state[0, -1].abs().sum() == 0


def test_other_families_get_the_padded_batch() -> None:
    model = DistilBertModel(DistilBertConfig(vocab_size=60, dim=32, n_heads=4, n_layers=2, hidden_dim=48)).eval()
    ids, mask = batch(model)
    ours, theirs = outputs(model, ids, mask), model(input_ids=ids, attention_mask=mask)
    assert torch.equal(ours.last_hidden_state, theirs.last_hidden_state)


@pytest.mark.parametrize("changed", ["renamed", "computed otherwise"])
def test_a_library_that_has_changed_gets_the_padded_batch(changed: str) -> None:
    model = made("bert")
    ids, mask = batch(model)
    attention = model.encoder.layer[1].attention.self
    if changed == "renamed":
        attention.keys, attention.forward = attention.key, copy.deepcopy(attention).forward
        del attention.key
    else:
        own = attention.forward
        attention.forward = lambda *given, **named: (2 * own(*given, **named)[0], None)
    theirs = model(input_ids=ids, attention_mask=mask).last_hidden_state
    assert torch.equal(outputs(model, ids, mask).last_hidden_state, theirs)
    assert model.training


def test_lower_precision_is_given_where_it_is_asked_for() -> None:
    model = made("bert")
    ids, mask = batch(model)
    with torch.autocast("cpu", torch.bfloat16):
        half = outputs(model, ids, mask, maps=True)
    whole = outputs(model, ids, mask, maps=True)
    assert half.last_hidden_state[0, -1].abs().sum() == 0  # packed, though the first look was in lower precision
    assert half.attentions[0].dtype == torch.bfloat16
    assert not torch.equal(half.last_hidden_state.float(), whole.last_hidden_state)
    torch.testing.assert_close(half.last_hidden_state.float(), whole.last_hidden_state, rtol=0, atol=0.1)
