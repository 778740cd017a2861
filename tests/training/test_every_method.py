"""Every method: lower loss, the same bits twice, the same from packed batches, and vectors of the encoder alone."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from cseb.encoder import packing
from cseb.errors import BadData
from cseb.methods.grammar import parse_method
from cseb.methods.spec import OPTIONAL
from cseb.parts import ALL
from cseb.training import objective
from cseb.training.build import build
from cseb.training.checkpoints import restore
from cseb.training.loop import train
from tests.conftest import SENTENCES
from tests.training.small_runs import (
    LINES,
    SMALL,
    TRAINED,
    Tiny,
    grouped,
    letters,
    method,
    run,
    slow,
    trained,
    trained_once,
)

COMBINED = (
    "simcse+ami simcse+moco ct+ami mirror+ami mirror-avg+ami simcse+shuffle simcse+delete simcse+repeat "
    "simcse+alignment-infonce informin-cl+mlm(corrupt_contrast=true) msse+moco scd+ami pcl+ami vascl+ami iscse+ami "
    "rankcse+ami mixcse+ami esimcse+ami consert+ami diffcse+ami arccse+ami sncse+ami promptbert+ami whitenedcse+ami "
    "dclr+ami rankencoder+ami distillcse+ami"
)


@pytest.mark.parametrize("name", [*grouped(TRAINED), *slow(COMBINED.split())])
def test_every_method_lowers_its_loss_and_gives_the_same_bits_twice(tiny: Tiny, name: str) -> None:
    once, twice = trained_once(tiny("bert"), name), trained(tiny, name)
    assert once.curve == twice.curve
    assert all(torch.equal(once.last[key], twice.last[key]) for key in once.last)
    other = trained(tiny, name, seed=1)
    assert other.curve != once.curve
    first, last = (sum(value.curve[place][1] for value in (once, other)) for place in (0, -1))
    assert last < first  # of both seeds together: masks may favour the first batches of one


OWN_DROPOUT = ("scd", "mocose")  # views and networks with rates of their own, whose draws follow the encoder's


PAPERS = ("simcse", "micse", "msse", "informin-cl", "compcse", "rcl", "simcse+ami", "simcse+ami(valid='square')")


@pytest.mark.parametrize("name", [*PAPERS, *slow(sorted({*TRAINED} - {*OWN_DROPOUT, *PAPERS}))])
def test_packed_and_padded_batches_teach_the_same(tiny: Tiny, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    still = f"{SMALL}+recipe(steps=2,eval_every=1,dropout=1e-9)"  # none is dropped
    packed = trained(tiny, name, still).curve
    monkeypatch.setattr(packing, "_supported", lambda backbone: False)
    padded = trained(tiny, name, still).curve
    assert packed[0][1] == pytest.approx(padded[0][1], rel=1e-4)
    assert packed[1][1] == pytest.approx(padded[1][1], rel=2e-2)  # AdamW's first step makes much of rounding


@pytest.mark.parametrize("name", ["sncse+ami", "pcl+ami", "pcl+ami(valid='square')"])
def test_unread_attention_maps_are_not_computed(tiny: Tiny, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    kept: list[bool] = []
    outputs = packing.outputs

    def seen(*given: Any, maps: bool = False, **asked: Any) -> Any:
        if torch.is_grad_enabled():
            kept.append(maps)
        return outputs(*given, maps=maps, **asked)

    monkeypatch.setattr(packing, "outputs", seen)
    still = f"{SMALL}+recipe(steps=2,eval_every=1,dropout=1e-9)"  # none is dropped
    spared = trained(tiny, name, still).curve
    assert kept == [True, False] * (len(kept) // 2)
    monkeypatch.setattr(objective, "_maps", lambda terms: (ALL, frozenset()))
    kept.clear()
    whole = trained(tiny, name, still).curve
    assert set(kept) == {True}
    assert spared[0][1] == pytest.approx(whole[0][1], rel=1e-5)
    assert spared[1][1] == pytest.approx(whole[1][1], rel=2e-2)  # AdamW's first step makes much of rounding


@pytest.mark.parametrize("name", LINES)
def test_labelled_methods_refuse_plain_sentences(tiny: Tiny, name: str) -> None:
    with pytest.raises(BadData, match=r"lines that are not .*: 64 of 64"):
        train(
            replace(build(method(name), tiny("bert"), 0), teacher=letters), SENTENCES, 0, "cpu", None, lambda look: None
        )


AT_TEST_TOO = ("promcse", "promcse-sup")  # what they add to the encoder is needed at test


@pytest.mark.parametrize("name", grouped([name for name in TRAINED if name not in AT_TEST_TOO]))
def test_embeddings_do_not_depend_on_parts_of_training_alone(tiny: Tiny, name: str) -> None:
    trained_by, result = method(name), trained_once(tiny("bert"), name)
    simcse, none = method("simcse"), dict.fromkeys(OPTIONAL)
    alone = replace(trained_by, views=simcse.views, terms=simcse.terms, recipe=simcse.recipe, **none)
    built = build(trained_by, tiny("bert"), 0)
    if built.tuning is not None:
        built.tuning.detach(built.encoder)  # checkpoints are those of ordinary encoders
    plain, whole = build(alone, tiny("bert"), 1).encoder, built.encoder
    for encoder in (plain, whole):
        restore(encoder, result.last)
    assert np.allclose(plain.embed(SENTENCES), whole.embed(SENTENCES), atol=1e-5)  # kernels may differ
    assert np.allclose(plain.embed(SENTENCES[:3]), plain.embed(SENTENCES)[:3], atol=1e-5)


@pytest.mark.parametrize(
    "text",
    [
        "compcse+compose(first=none)+moco(size=16)",
        "compcse-roberta+halves(k=4)",
        "compcse+compose(first=none,aggregate=concat_diff_project,before_head=false)+halves(side=both)",
        "compcse-large+halves(side=anchor,extra=overlapping)",
        "simcse+halves+compose(aggregate=max)+dcm",
        "simcse-sup+moco(size=16)+infonce(hard_weight=2.0)",
        "rcl+pairs+drophead+entropy_models(phis=(0.01,),steps=2)",
        "rcl-unsup+entropy_models(phis=(0.01,),steps=2)+attention_dropout(rate=0.3)",
        "vascl+gelu_mlp(width=5)+denoise",  # a head narrower than the decoder: found by the fuzz
    ],
)
def test_combinations_train(tiny: Tiny, text: str) -> None:
    settled = parse_method(f"{text}+{SMALL}").at(1.0)
    pairs = [f"{question}\tanswer: {answer}" for question, answer in zip(SENTENCES, SENTENCES[::-1], strict=True)]
    lines = {"pairs": pairs, "triples": LINES["simcse-sup"]}.get(settled.views.name, SENTENCES)
    result = run(build(settled, tiny("bert"), 0), lines)
    assert result.curve[-1][1] < result.curve[0][1]
