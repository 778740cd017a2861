"""Views encoded each in its own way: what the rendering changes, and that the encoder is left as it was."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from cseb.build import build, check
from cseb.encoder import Encoder, tensors
from cseb.errors import BadSpec
from cseb.parts.renderings import AtRate, dropout_at
from cseb.spec import parse_method
from cseb.train import train
from tests.conftest import SENTENCES

Tiny = Callable[[str], Path]
FAMILIES = ["bert", "roberta", "mpnet", "distilbert", "modernbert"]


def encoder(tiny: Tiny, family: str = "bert", method: str = "simcse") -> Encoder:
    return build(parse_method(method).at(1.0), tiny(family), 0).encoder.train()


def block(one: Encoder, texts: list[str] = SENTENCES[:4]) -> tuple[torch.Tensor, ...]:
    return tensors(one.tokenise(texts, 32).batch(torch.arange(len(texts)).numpy()), one.device)


def seeded(rendering, one: Encoder, seed: int, texts: list[str] = SENTENCES[:4]) -> torch.Tensor:
    torch.manual_seed(seed)
    return rendering(one, *block(one, texts)).h


@pytest.mark.parametrize("family", FAMILIES)
def test_at_rate_0_views_are_equal_and_at_others_they_differ(tiny: Tiny, family: str) -> None:
    one = encoder(tiny, family)
    assert torch.equal(seeded(AtRate(0.0), one, 1), seeded(AtRate(0.0), one, 2))
    assert not torch.allclose(seeded(AtRate(0.2), one, 1), seeded(AtRate(0.2), one, 2))
    if family != "modernbert":  # its own rates are not 0.1 everywhere
        assert torch.equal(seeded(AtRate(0.1), one, 3), seeded(lambda encoder, *rest: encoder(*rest), one, 3))


@pytest.mark.parametrize("family", FAMILIES)
def test_rates_are_put_back(tiny: Tiny, family: str) -> None:
    backbone = encoder(tiny, family).backbone

    def rates() -> list[object]:
        return [getattr(part, "p", getattr(part, "attention_dropout", None)) for part in backbone.modules()]

    before = rates()
    with pytest.raises(ZeroDivisionError), dropout_at(backbone, 0.4):
        assert rates() != before
        raise ZeroDivisionError
    assert rates() == before


def test_a_higher_rate_moves_vectors_further(tiny: Tiny) -> None:
    one = encoder(tiny)
    quiet = seeded(AtRate(0.0), one, 0)
    near, far = ((seeded(AtRate(rate), one, 0) - quiet).norm().item() for rate in (0.02, 0.3))
    assert near < far


def test_the_two_views_of_scd_have_their_own_rates(tiny: Tiny) -> None:
    settled = "scd+barlow_projector(width=8)+recipe(steps=1,batch_size=8,warmup=0)+multi_dropout(rates={})"

    def loss(rates: str) -> float:
        built = build(parse_method(settled.format(rates) + "-cross_correlation").at(1.0), tiny("bert"), 0)
        return train(built, SENTENCES, 0, "cpu", None, lambda look: None).curve[0][1]

    assert loss("(0.0,0.0)") == pytest.approx(20, abs=1e-4)
    assert loss("(0.0,0.3)") < 19.99


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("scd+multi_dropout(rates=(0.1,))", "multi_dropout: rates is"),
        ("scd+multi_dropout(rates=(0.1,2.0))", "multi_dropout: rates is 2.0"),
        ("scd+attention_dropout", "multi_dropout settles the noise of its views; take attention_dropout out"),
        ("scd+barlow_projector(width=0)", "barlow_projector: width is 0"),
    ],
)
def test_what_cannot_be_is_refused(tiny: Tiny, text: str, message: str) -> None:
    with pytest.raises(BadSpec) as caught:
        check(parse_method(text).at(1.0), tiny("bert"))
    assert message in str(caught.value)
