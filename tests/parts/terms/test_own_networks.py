"""Terms with networks of their own: what those read, which weights are trained, and which stay."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from transformers import AutoModelForMaskedLM, ElectraConfig

from cseb.errors import BadData, BadSpec
from cseb.methods.grammar import parse_method
from cseb.parts import LossInputs
from cseb.parts.terms.agreement import L2ToInit, multi_layer_nce
from cseb.parts.terms.masked_language_modelling import corrupt, select
from cseb.parts.terms.replaced_token_detection import RTD, detection
from cseb.training.build import Built, check
from tests.conftest import SENTENCES
from tests.training.small_runs import Tiny, batch_of, built_of, run

SMALL = "recipe(steps=3,warmup=0,batch_size=8,learning_rate=1e-2,eval_every=3)"


def small(tiny: Tiny, text: str, family: str = "bert") -> Built:
    return built_of(tiny, f"{text}+{SMALL}", family)


def weights(module: torch.nn.Module) -> dict[str, torch.Tensor]:
    return {name: weight.detach().clone() for name, weight in module.named_parameters()}


def moved(before: dict[str, torch.Tensor], module: torch.nn.Module) -> set[str]:
    return {name for name, weight in module.named_parameters() if not weight.equal(before[name])}


def step(built: Built, texts: list[str], seed: int = 0) -> LossInputs:
    view = built.encoder(*batch_of(built.encoder, texts))
    rng = torch.Generator().manual_seed(seed)
    return LossInputs([view], rng, head=built.encoder.head, language=None, read=built.encoder.read)


def rtd(built: Built) -> RTD:
    term = built.terms[-1].term
    assert isinstance(term, RTD)
    return term


DIFFCSE = "diffcse+rtd(generator=self{})+bn_mlp(inner=8)"


def test_a_vector_wider_than_an_embedding_is_refused(tiny: Tiny, tmp_path: Path) -> None:
    shutil.copytree(tiny("bert"), tmp_path, dirs_exist_ok=True)
    config = ElectraConfig(vocab_size=200, embedding_size=8, hidden_size=16, num_hidden_layers=2, num_attention_heads=2)
    AutoModelForMaskedLM.from_config(config).save_pretrained(tmp_path)
    with pytest.raises(BadSpec, match="rtd: this encoder's embeddings have 8 features and its layers 16"):
        check(parse_method("diffcse+rtd(generator=self)").at(1.0), tmp_path)


def test_detection_is_cross_entropy_over_what_counts() -> None:
    logits = torch.tensor([[[2.0, 0.0], [0.0, 1.0], [5.0, 0.0]]])
    replaced, counted = torch.tensor([[False, True, True]]), torch.tensor([[True, True, False]])
    expected = (np.log(1 + np.exp(-2.0)) + np.log(1 + np.exp(-1.0))) / 2
    assert detection(logits, replaced, counted).item() == pytest.approx(expected)


@pytest.mark.parametrize(("fill", "on"), [("argmax_all", "z"), ("argmax_masked", "h")])
def test_the_loss_of_both_views_equals_loops_over_sentences_layers_and_tokens(tiny: Tiny, fill: str, on: str) -> None:
    built = small(tiny, DIFFCSE.format(f",rate=0.5,count=real,fill={fill},on={on}"))
    built.encoder.double().eval()
    term = rtd(built).double().eval()
    for weight in term.guesser.parameters():
        weight.mul_(5)  # so that tokens, and padding, matter to one another
    texts = [SENTENCES[0], f"{SENTENCES[1]} in the park"]
    given, other = step(built, texts), step(built, texts[::-1])
    views = [*given.views, *other.views]
    ids, mask, content, vectors = (torch.cat([getattr(view, name) for view in views]) for name in
                                   ("ids", "mask", "content", on))  # fmt: skip
    rng = torch.Generator().manual_seed(0)
    selected = select(content, 0.5, rng)
    hidden = corrupt(ids, selected, term.shape.mask_id, term.shape.vocabulary, rng)
    losses = []
    for row in range(4):
        real = int(mask[row].sum())
        best = term.guesser.model(input_ids=hidden[row : row + 1, :real]).logits[0].argmax(dim=1)
        told = [t > 0 and (fill == "argmax_all" or bool(selected[row, t])) for t in range(real)]
        guessed = torch.where(torch.tensor(told), best, ids[row, :real])
        states = term.discriminator.embeddings(guessed[None])
        states = torch.cat([vectors[row][None, None], states[:, 1:]], dim=1)
        for layer in term.discriminator.encoder.layer:
            left = layer(states)
            states = left if isinstance(left, torch.Tensor) else left[0]
        losses += [
            F.cross_entropy(term.classifier(states[0, t]), (guessed[t] != ids[row, t]).long()) for t in range(real)
        ]
    assert term(replace(given, views=views)).item() == pytest.approx(torch.stack(losses).mean().item())


@pytest.mark.parametrize("family", ["bert", "roberta", "distilbert", "modernbert", "mpnet"])
def test_the_vector_stands_in_the_place_of_the_first_token(tiny: Tiny, family: str) -> None:
    built = small(tiny, DIFFCSE.format(""), family)
    inputs = step(built, SENTENCES[:2])
    term = rtd(built).eval()
    view = inputs.views[0]
    states = term.read(view.ids, view.mask, view.h)
    assert not torch.allclose(states, term.read(view.ids, view.mask, view.h + 1))
    other = view.ids.clone()
    other[:, 0] = 7  # whatever token stood there
    assert torch.allclose(states, term.read(other, view.mask, view.h), atol=1e-6) or family == "roberta"


def test_words_are_replaced_where_the_fill_says(tiny: Tiny) -> None:
    for fill in ("argmax_all", "argmax_masked", "sample"):
        built = small(tiny, DIFFCSE.format(f",fill={fill},rate=0.5"))
        inputs = step(built, [SENTENCES[0], f"{SENTENCES[1]} in the park"])
        view, term = inputs.views[0], rtd(built)
        result = term.guess(view.ids, view.mask, view.content, torch.Generator().manual_seed(0))
        changed = result != view.ids
        assert not changed[:, 0].any()
        assert not changed[view.mask == 0].any()
        assert changed.any()
        assert bool(changed[view.content == 0].any()) is (fill == "argmax_all")  # [SEP] may be guessed wrong
    none = small(tiny, DIFFCSE.format(",fill=sample,rate=0"))
    view = step(none, SENTENCES[:2]).views[0]
    assert rtd(none).guess(view.ids, view.mask, view.content, torch.Generator()).equal(view.ids)


def test_padding_counts_as_released_or_does_not(tiny: Tiny) -> None:
    built = small(tiny, DIFFCSE.format(",fill=argmax_masked,rate=0.5"))
    built.encoder.eval(), rtd(built).eval()
    short = step(built, SENTENCES[:2])
    view = short.views[0]
    width = {name: F.pad(getattr(view, name), (0, 9)) for name in ("ids", "mask", "content")}
    term = rtd(built)
    ids = {False: view.ids, True: width["ids"]}
    fixed = {False: view.ids.roll(1, 1), True: F.pad(view.ids.roll(1, 1), (0, 9))}
    losses = {}
    for count in ("all", "real"):
        term.count = count
        for padded in (False, True):
            values = replace(short, views=[replace(view, **width)] if padded else [view])
            made = torch.where(values.views[0].mask.bool(), fixed[padded], ids[padded])
            term.guess = lambda *rest, made=made: made
            losses[count, padded] = term(values).item()
    assert losses["real", False] == pytest.approx(losses["real", True], rel=1e-5)
    assert losses["all", False] == pytest.approx(losses["real", False], rel=1e-5)  # equal lengths: no padding yet
    assert losses["all", True] != pytest.approx(losses["all", False], rel=1e-2)


def test_discriminator_and_encoder_learn_and_the_generator_does_not(tiny: Tiny) -> None:
    built = small(tiny, DIFFCSE.format("") + "-infonce")
    term = rtd(built)
    before = {name: weights(part) for name, part in (("generator", term.guesser), ("own", term.discriminator))}
    start, values = weights(built.encoder.backbone), weights(term.classifier)
    assert before["own"].keys() == start.keys()
    assert all(weight.equal(start[name]) for name, weight in before["own"].items())
    run(built)
    assert not moved(before["generator"], term.guesser)
    assert moved(before["own"], term.discriminator)
    assert moved(values, term.classifier)
    assert not {*map(id, term.discriminator.parameters())} & {*map(id, built.encoder.parameters())}
    assert moved(start, built.encoder.backbone)  # through the vector that is told


def test_a_generator_of_another_vocabulary_or_without_a_head_is_refused(tiny: Tiny, tmp_path: Path) -> None:
    from transformers import AutoModel, BertConfig, BertForMaskedLM

    from tests.conftest import save_tokenizer

    save_tokenizer(tmp_path)
    BertForMaskedLM(BertConfig(vocab_size=9, hidden_size=4, num_attention_heads=1, num_hidden_layers=1,
                               intermediate_size=4)).save_pretrained(tmp_path)  # fmt: skip
    with pytest.raises(BadSpec, match="has 9 word pieces"):  # before anything is trained
        check(parse_method(f"diffcse+rtd(generator='{tmp_path}')").at(1.0), tiny("bert"))
    headless = tmp_path / "headless"
    copy = AutoModel.from_pretrained(tiny("bert"))
    copy.save_pretrained(headless)
    with pytest.raises(BadData, match=r"lacks weights such as cls.*; name a model with a masked-LM head"):
        small(tiny, f"diffcse+rtd(generator='{headless}')")
    with pytest.raises(BadSpec, match="the head gives 8 numbers, a token has 16; take on=h"):
        run(small(tiny, "diffcse+rtd(generator=self)+barlow_projector(width=8)"))


@pytest.mark.parametrize("dropout", [False, True])
def test_the_frozen_copy_of_sg_opt_stays_and_is_noisy_as_released(tiny: Tiny, dropout: bool) -> None:
    built = small(tiny, f"sg-opt+gelu_mlp(width=8)+multi_layer_nce(anchor_dropout={dropout})")
    term = built.terms[0].term
    before, start = weights(term.frozen), weights(built.encoder.backbone)
    view = step(built, [SENTENCES[0], f"{SENTENCES[1]} in the park"]).views[0]
    drawn = [term.train().pooled(view.ids, view.mask) for _ in range(2)]
    assert drawn[0].shape == (2, 3, 16)
    assert drawn[0].equal(drawn[1]) is not dropout
    if not dropout:
        alone = step(built, SENTENCES[:1]).views[0]
        assert torch.allclose(term.pooled(alone.ids, alone.mask)[0], drawn[0][0], atol=1e-5)  # whatever the padding
    run(built)
    assert not moved(before, term.frozen)
    assert moved(start, built.encoder.backbone)


def test_the_contrast_of_sg_opt_reads_the_head_of_the_mean_of_every_layer(tiny: Tiny) -> None:
    built = small(tiny, "sg-opt+gelu_mlp(width=8)")
    inputs = step(built, [SENTENCES[0], f"{SENTENCES[1]} in the park", SENTENCES[2]])
    term, view = built.terms[0].term.eval(), inputs.views[0]
    layers = []
    for row in range(3):
        real = view.ids[row : row + 1, : int(view.mask[row].sum())]
        states = term.frozen(input_ids=real, output_hidden_states=True).hidden_states
        layers.append(torch.stack([built.encoder.head(layer[0].mean(dim=0)) for layer in states]))
    loss, expected = term(inputs), multi_layer_nce(view.z, torch.stack(layers), 0.01)
    assert loss.item() == pytest.approx(expected.item(), rel=1e-4)
    weight = next(built.encoder.head.parameters())  # learns from both sides
    slopes = [torch.autograd.grad(value, weight, retain_graph=True)[0] for value in (loss, expected)]
    assert torch.allclose(*slopes, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("freeze", [True, False])
def test_weights_are_pulled_to_where_they_started(tiny: Tiny, freeze: bool) -> None:
    built = small(tiny, f"sg-opt+gelu_mlp(width=8)+l2_to_init(freeze_embeddings={freeze})")
    term = built.terms[1].term
    assert isinstance(term, L2ToInit)
    inputs = step(built, SENTENCES[:2])
    assert term(inputs).item() == 0
    start = weights(built.encoder.backbone)
    run(built)
    changed = moved(start, built.encoder.backbone)
    assert any(name.startswith("embeddings") for name in changed) is not freeze
    expected = sum(
        (weight - start[name]).square().sum().item()
        for name, weight in built.encoder.backbone.named_parameters()
        if not name.startswith("embeddings")
    )
    assert term(inputs).item() == pytest.approx(expected, rel=1e-4)
    assert expected > 0


def test_peers_share_the_head_learn_apart_and_only_the_first_is_the_result(tiny: Tiny) -> None:
    built = small(tiny, "pcl")
    assert built.peer.head is built.encoder.head
    start, peer = weights(built.encoder.backbone), weights(built.peer.backbone)
    assert all(weight.equal(peer[name]) for name, weight in start.items())
    result = run(built)
    assert moved(peer, built.peer.backbone)
    ends = [weights(encoder.backbone) for encoder in (built.encoder, built.peer)]
    assert any(not weight.equal(ends[1][name]) for name, weight in ends[0].items())
    assert all(result.last[f"backbone.{name}"].equal(weight) for name, weight in ends[0].items())


@pytest.mark.parametrize("masked", [True, False])
def test_a_peer_without_a_mask_sees_padding(tiny: Tiny, masked: bool) -> None:
    built = small(tiny, f"pcl+peer_encoder(attention_mask={masked})")
    built.peer.eval(), built.encoder.eval()
    short = batch_of(built.encoder, SENTENCES[:2])
    long = batch_of(built.encoder, SENTENCES[:2], 20)
    assert torch.allclose(built.peer(*short).h, built.peer(*long).h, atol=1e-5) is masked
    assert torch.allclose(built.encoder(*short).h, built.encoder(*long).h, atol=1e-5)


def test_a_peer_reads_through_the_pre_trained_pooler_where_there_is_one(tmp_path: Path) -> None:
    from transformers import BertModel

    from tests.conftest import save_tokenizer, tiny_config

    BertModel(tiny_config("bert", save_tokenizer(tmp_path))).save_pretrained(tmp_path)
    built = built_of(lambda family: tmp_path, "pcl")
    built.peer.eval(), built.encoder.eval()
    block = batch_of(built.encoder, SENTENCES[:2])
    dense = built.peer.backbone.pooler.dense
    assert torch.allclose(built.peer(*block).h, dense(built.encoder(*block).h).tanh(), atol=1e-5)
    same = built_of(lambda family: tmp_path, "pcl+peer_encoder(pooler=same)")
    same.peer.eval(), same.encoder.eval()
    assert torch.allclose(same.peer(*block).h, same.encoder(*block).h, atol=1e-5)


def test_every_term_is_taken_of_both_networks_and_those_of_two_once(tiny: Tiny) -> None:
    built = small(tiny, "pcl")
    seen: dict[str, list[tuple[int, int, bool]]] = {}

    class Looks(torch.nn.Module):
        def __init__(self, inner: torch.nn.Module, name: str) -> None:
            super().__init__()
            self.inner, self.name, self.networks = inner, name, getattr(inner, "networks", 1)
            self.needs = inner.needs

        def forward(self, inputs: LossInputs) -> torch.Tensor:
            entries = (len(inputs.views), len(inputs.edits), inputs.peer is not None)
            seen.setdefault(self.name, []).append(entries)
            return self.inner(inputs)

    terms = tuple(replace(weighted, term=Looks(weighted.term, weighted.name)) for weighted in built.terms)
    run(replace(built, terms=terms))
    assert seen["kl_peers"] == [(2, 8, True)] * 3  # one for every step
    assert seen["infonce"] == [(2, 8, True), (2, 8, False)] * 3
    assert seen["group_softmax_bce"] == seen["infonce"]
