"""Decoders with attention to both sides: in every family, trained by MNTP, and what is refused."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from cseb.data.bidirectional import FAMILIES as SWITCHED
from cseb.data.weights import find_encoder, locate
from cseb.encoder.interface import EncodedView
from cseb.encoder.loading import shape_of
from cseb.errors import BadData, BadSpec
from cseb.methods.grammar import parse_method
from cseb.parts import ALL, LossInputs
from cseb.parts.terms.masked_language_modelling import MNTP, states_before
from cseb.training.build import build, check
from tests.conftest import SENTENCES
from tests.encoder.test_decoders import FAMILIES, Decoder, decoder, encoder

__all__ = ["decoder"]  # the fixture
ALONE = "mntp+mntp(blank=a)+lora(rank=2,alpha=4.0)+recipe(steps=2,batch_size=8,eval_every=1)"


@pytest.mark.parametrize("family", FAMILIES)
def test_every_token_sees_those_behind_it_with_and_without_padding(decoder: Decoder, family: str) -> None:
    assert family in SWITCHED
    plain = str(decoder(family))
    assert find_encoder(plain)[1] != find_encoder(f"bidirectional:{plain}")[1]
    ids, other = torch.tensor([[0, 3, 4, 5], [0, 3, 4, 6]])
    for name, sees in ((plain, False), (f"bidirectional:{plain}", True)):
        backbone = encoder(locate(name), "mean").backbone.eval()
        for last in (1, 0):  # of a second sentence, which is padded or not
            mask = torch.tensor([[1, 1, 1, 1], [1, 1, 1, last]])
            with torch.no_grad():
                first, second = (
                    backbone(input_ids=torch.stack([row, ids]), attention_mask=mask).last_hidden_state[0]
                    for row in (ids, other)
                )
            assert bool((first[:3] - second[:3]).abs().max() > 1e-6) is sees, (name, last)


def test_states_in_front_of_the_selected() -> None:
    states = torch.arange(8.0).view(2, 4, 1)
    selected = torch.tensor([[False, True, False, True], [False, False, True, False]])
    assert states_before(states, selected).flatten().tolist() == [0.0, 2.0, 5.0]


@pytest.mark.parametrize("family", ["llama", "opt"])  # an output layer of its own, and the word embeddings
def test_mntp_equals_its_loops(decoder: Decoder, family: str) -> None:
    built = build(parse_method(ALONE).at(1.0), locate(f"bidirectional:{decoder(family)}"), 0)
    model, term = built.encoder.eval(), built.terms[0].term
    assert isinstance(term, MNTP)
    assert (term.output is None) is (family == "opt")
    tokens = model.tokenise(SENTENCES[:3], 16).batch(np.arange(3))
    ids, mask, content = (torch.from_numpy(part) for part in (tokens.ids, tokens.mask, tokens.content))
    hidden, selected = term.hide(ids, content, torch.Generator().manual_seed(1))
    assert selected.any()
    assert not selected[:, 0].any()
    assert not (selected & (content == 0)).any()
    assert (hidden[selected] == term.blank).all()
    assert hidden[~selected].equal(ids[~selected])
    costs = []
    weight = (term.output.weight if term.output is not None else model.backbone.get_input_embeddings().weight).detach()
    with torch.no_grad():
        states = model.read(hidden, mask)
        view = EncodedView(states[:, 0], states[:, 0], ids, mask, content)
        loss = term(LossInputs([view], torch.Generator().manual_seed(1), read=model.read)).item()
    assert (term.reads.made, term.reads.views, term.reads.models) == (frozenset(), ALL, 0)
    with torch.no_grad():  # it reads the text of every view, and nothing that was made of it
        other = EncodedView(view.h + 1, view.z + 1, ids, mask, content)
        assert term(LossInputs([other], torch.Generator().manual_seed(1), read=model.read)).item() == loss
        for views in ([view, replace(view, ids=ids.flip(1))], [replace(view, ids=ids.flip(1)), view]):
            plain, moved = (
                term(LossInputs(each, torch.Generator().manual_seed(1), read=model.read)).item()
                for each in ([view, view], views)
            )
            assert plain != moved
    for row, place in selected.nonzero().tolist():
        logits = [float(weight[word] @ states[row, place - 1]) for word in range(len(weight))]
        costs.append(math.log(sum(map(math.exp, logits))) - logits[ids[row, place]])
    assert loss == pytest.approx(sum(costs) / len(costs), rel=1e-4)


def test_what_cannot_be_is_one_line(decoder: Decoder, tiny: Decoder) -> None:
    llama = str(decoder("llama"))
    with pytest.raises(BadData, match=r"its family is .*; attention can be switched .* leave 'bidirectional:' out"):
        find_encoder(f"bidirectional:{tiny('bert')}")
    for folder, edit, message in (
        (locate(llama), "", r"those before them alone; take `encoder` bidirectional:ENCODER"),
        (tiny("bert"), "", r"is no decoder; take \+mlm"),
        (locate(f"bidirectional:{llama}"), "+mntp(blank=_)", "blank is '_', 1 known tokens"),
        (locate(f"bidirectional:{llama}"), "+mntp(blank='a man')", "blank is 'a man', 2 known tokens"),
    ):
        with pytest.raises(BadSpec, match=message):
            check(parse_method(ALONE + edit).at(1.0), folder)
    assert shape_of(locate(f"bidirectional:{llama}")).family.what.startswith("a decoder")
