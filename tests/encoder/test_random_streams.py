"""A part's random numbers are its own: whatever is added, the other parts' draws and weights stay bit for bit."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from cseb.encoder.random_streams import RandomStreams, TermGenerators, new_weights, random_stream
from cseb.methods.grammar import parse_method
from cseb.seeds import distinct
from cseb.training.build import build
from cseb.training.loop import train
from tests.conftest import SENTENCES

Tiny = Callable[[str], Path]
CPU = torch.device("cpu")
# Clipping is off: the norm of all gradients is summed in another order where there are more of them.
SMALL = "recipe(steps=4,warmup=0,batch_size=16,learning_rate=3e-3,eval_every=2,clip=0.0)"


@dataclass
class Training:
    """Of one training: the first pass's token states, every term's values, the weights at the end."""

    states: Tensor | None = None
    values: dict[str, list[float]] = field(default_factory=dict)
    weights: dict[str, Tensor] = field(default_factory=dict)


def trained(tiny: Tiny, text: str) -> Training:
    built, training = build(parse_method(f"{text}+{SMALL}").at(1.0), tiny("bert"), 0), Training()

    def first(module: Any, inputs: Any, outputs: Any) -> None:
        if training.states is None:
            training.states = outputs.last_hidden_state.detach().clone()

    built.encoder.backbone.register_forward_hook(first)
    for weighted in built.terms:
        values = training.values.setdefault(weighted.name, [])
        weighted.term.register_forward_hook(lambda _, __, output, values=values: values.append(float(output.detach())))
    result = train(built, SENTENCES, 0, "cpu", None, lambda look: None)
    kept = (name for name in result.last if name.startswith("backbone") and ".pooler." not in name)  # which nobody asks
    training.weights = {name: result.last[name] for name in kept}
    return training


@pytest.mark.parametrize(
    ("base", "addition"),
    [
        ("simcse", "+mlm(weight=0)"),
        ("simcse", "+reconstruct(layers=1,inner=16,weight=0)"),
        ("simcse", "+rtd(generator=self,fill=sample,weight=0)"),
        ("simcse", "+momentum_nce(size=16,start=4,weight=0)"),
        ("simcse", "+multi_layer_nce(weight=0)"),
        ("simcse", "+layer_noise(weight=0)"),
        ("simcse", "+smooth(size=20,neighbours=4,weight=0)"),
        ("simcse", "+drophead(rate=0.0)"),
        ("simcse+group_whiten(groups=4)", "+virtual_nt_xent(neighbours=3,weight=0)+mlm(weight=0)"),
        ("simcse+layer_noise", "+mlm(weight=0)"),
        ("simcse+mlm", "+layer_noise(weight=0)+rtd(generator=self,weight=0)"),
        ("simcse+mlm(corrupt_contrast=true)", "+layer_noise(weight=0)"),
        ("simcse+nt_xent+infonce(weight=0)", "+moco(size=16)"),
        ("simcse+nt_xent+infonce(weight=0)+momentum_nce(size=16,start=4)", "+moco(size=16,dropout=0.5)"),
        ("simcse+drophead+mlm(weight=0)", "+rtd(generator=self,weight=0)"),
        ("simcse+drophead", "+mlm(weight=0)"),
        ("simcse+none", "+peer_encoder+kl_peers(weight=0)"),
        ("simcse+none+layer_noise", "+peer_encoder+kl_peers(weight=0)"),
        ("consert", "+mlm(weight=0)"),
        ("mirror", "+mlm(weight=0)"),
        ("promptbert", "+layer_noise(weight=0)"),
    ],
)
def test_adding_a_part_changes_no_other_parts_numbers(tiny: Tiny, base: str, addition: str) -> None:
    alone, more = trained(tiny, base), trained(tiny, base + addition)
    assert alone.states.equal(more.states)
    for name, values in alone.values.items():
        if not (name == "infonce" and "moco" in addition):  # it reads the queue
            assert more.values[name][: len(values)] == values or _of_first(more.values[name]) == values, name
    for name, weight in alone.weights.items():
        assert weight.equal(more.weights[name]), name


def _of_first(values: list[float]) -> list[float]:
    """Values of a term that two networks have in turn: those of the first."""
    return values[::2]


def test_reading_attention_maps_draws_no_further_numbers(tiny: Tiny) -> None:
    """Other kernels return the maps, so that the last digits may differ."""
    alone, more = trained(tiny, "simcse"), trained(tiny, "simcse+ami(layers=(0,1),weight=0)")
    assert torch.allclose(alone.states, more.states, atol=1e-5)
    assert alone.values["infonce"] == pytest.approx(more.values["infonce"], rel=1e-4)


def test_the_head_has_a_stream_of_its_own(tiny: Tiny) -> None:
    plain, shuffled = (trained(tiny, text) for text in ("simcse", "simcse+group_whiten(groups=4)"))
    assert plain.states.equal(shuffled.states)


def test_new_weights_of_a_part_are_the_same_beside_others(tiny: Tiny) -> None:
    few = build(parse_method("simcse+reconstruct(layers=1,inner=16)").at(1.0), tiny("bert"), 0)
    text = "simcse+cnn_mean(widths=(1,3))+momentum_nce(size=16,start=4)+reconstruct(layers=1,inner=16)"
    many = build(parse_method(text).at(1.0), tiny("bert"), 0)
    other = build(parse_method(text).at(1.0), tiny("bert"), 1)
    decoders: list[Any] = [built.terms[-1].term for built in (few, many, other)]
    for name, weight in decoders[0].state_dict().items():
        assert weight.equal(decoders[1].state_dict()[name]), name
    assert not decoders[1].decoder.layers[0].linear1.weight.equal(decoders[2].decoder.layers[0].linear1.weight)
    heads: list[Any] = [built.encoder.head for built in (few, many, other)]
    assert heads[0].dense.weight.equal(heads[1].dense.weight)
    assert not heads[0].dense.weight.equal(heads[2].dense.weight)


def test_streams_continue_where_they_were_left() -> None:
    with RandomStreams(0, CPU):
        whole = torch.rand(4)
        with random_stream("memory"):
            queued = torch.rand(4)
    torch.manual_seed(1)
    expected = torch.rand(2)
    torch.manual_seed(1)
    with RandomStreams(0, CPU):
        main = [torch.rand(2)]
        with random_stream("memory"):
            memory = [torch.rand(2)]
            with random_stream("head"):
                inner = torch.rand(2)
        main.append(torch.rand(2))
        with random_stream("head"):
            outer = torch.rand(2)
        with pytest.raises(ZeroDivisionError), random_stream("memory"):
            memory.append(torch.rand(2))
            _ = 1 / 0
    assert torch.rand(2).equal(expected)  # as if nothing had been drawn
    assert torch.cat(main).equal(whole)
    assert torch.cat(memory).equal(queued)
    assert not inner.equal(outer)


def test_no_two_processes_drop_the_same_but_all_choose_alike() -> None:
    numbers = []
    for rank in (0, 1):
        with RandomStreams(0, CPU, rank):
            main = torch.rand(3)
            with random_stream("terms/rtd"):
                numbers.append((main, torch.rand(3)))
    assert not numbers[0][0].equal(numbers[1][0])
    assert not numbers[0][1].equal(numbers[1][1])
    drawn = [torch.rand(3, generator=TermGenerators(0, CPU).of("ami")) for _ in range(2)]
    assert drawn[0].equal(drawn[1])


def test_outside_training_torchs_generator_is_unchanged() -> None:
    torch.manual_seed(2)
    expected = torch.rand(4)
    torch.manual_seed(2)
    with random_stream("head"):
        first = torch.rand(2)
    with new_weights(0, "mlp"):
        torch.rand(7)
    assert torch.cat([first, torch.rand(2)]).equal(expected)


def test_parts_of_one_name_have_streams_of_their_own() -> None:
    assert distinct(["mlm", "ami", "mlm", "mlm"]) == ["mlm", "ami", "mlm#2", "mlm#3"]
