"""Views encoded each in its own way: what the rendering changes, and that the encoder is left as it was."""

from pathlib import Path

import pytest
import torch

from cseb.encoder.encoder import Encoder
from cseb.parts.views import (
    AtRate,
    Cutoff,
    MultiDropout,
    Plain,
    PositionShuffle,
    cut_features,
    cut_tokens,
    dropout_at,
    shuffled_places,
)
from tests.conftest import SENTENCES, script_of
from tests.training.small_runs import Tiny, batch_of, built_of, encoder_in, run

FAMILIES = ["bert", "roberta", "mpnet", "distilbert", "modernbert"]


def loaded(tiny: Tiny, family: str = "bert", method: str = "simcse") -> Encoder:
    return built_of(tiny, method, family).encoder.train()


def seeded(rendering, encoder: Encoder, seed: int, texts: list[str] = SENTENCES[:4]) -> torch.Tensor:
    torch.manual_seed(seed)
    return rendering(encoder, *batch_of(encoder, texts)).h


@pytest.mark.parametrize("family", FAMILIES)
def test_at_rate_0_views_are_equal_and_at_others_they_differ(tiny: Tiny, family: str) -> None:
    model = loaded(tiny, family)
    assert torch.equal(seeded(AtRate(0.0), model, 1), seeded(AtRate(0.0), model, 2))
    assert not torch.allclose(seeded(AtRate(0.2), model, 1), seeded(AtRate(0.2), model, 2))
    if family != "modernbert":  # its own rates are not 0.1 everywhere
        assert torch.equal(seeded(AtRate(0.1), model, 3), seeded(lambda encoder, *rest: encoder(*rest), model, 3))


@pytest.mark.parametrize("family", ["t5", "opt", "llama", "falcon", "gpt_neo", "starcoder2"])
def test_rates_that_are_no_dropout_layers_are_set_too(tmp_path: Path, family: str) -> None:
    folder = script_of("families").made(family, tmp_path)
    model = encoder_in(folder, "simcse+mean+recipe(dropout=0.1)").train()
    assert torch.equal(seeded(AtRate(0.0), model, 1), seeded(AtRate(0.0), model, 2))
    assert torch.equal(seeded(AtRate(0.1), model, 3), seeded(lambda encoder, *rest: encoder(*rest), model, 3))
    assert not torch.allclose(seeded(AtRate(0.3), model, 3), seeded(AtRate(0.1), model, 3))


@pytest.mark.parametrize("family", FAMILIES)
def test_rates_are_put_back(tiny: Tiny, family: str) -> None:
    backbone = loaded(tiny, family).backbone

    def rates() -> list[object]:
        return [getattr(part, "p", getattr(part, "attention_dropout", None)) for part in backbone.modules()]

    before = rates()
    with pytest.raises(ZeroDivisionError), dropout_at(backbone, 0.4):
        assert rates() != before
        raise ZeroDivisionError
    assert rates() == before


def test_a_rate_configured_as_a_whole_0_is_replaced_too(tiny: Tiny) -> None:
    encoder = loaded(tiny, method="simcse+recipe(dropout=1e-9)")
    for module in encoder.backbone.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0  # as JSON has it
    assert not torch.equal(seeded(AtRate(0.3), encoder, 0), seeded(AtRate(0.0), encoder, 0))
    with dropout_at(encoder.backbone, 0.3):
        assert {module.p for module in encoder.backbone.modules() if isinstance(module, torch.nn.Dropout)} == {0.3}


def test_the_two_views_of_scd_have_their_own_rates(tiny: Tiny) -> None:
    template = "scd+none+recipe(steps=1,batch_size=8,warmup=0)+multi_dropout(rates={})"

    def loss(rates: str) -> float:
        built = built_of(tiny, template.format(rates) + "-cross_correlation")
        return run(built).curve[0][1]

    assert loss("(0.0,0.0)") == pytest.approx(20, abs=1e-4)
    assert loss("(0.0,0.3)") < 19.99


def test_each_view_has_its_own_edit_at_its_own_rate(tiny: Tiny) -> None:
    assert [rendering.rate for rendering in MultiDropout((0.1, 0.2)).renderings] == [0.1, 0.2]
    edits = "embedding_edits(first=token_cutoff,second=position_shuffle,rate=0.3)"
    first, second = built_of(tiny, f"consert+{edits}", "roberta").views.renderings
    assert (first.cut, first.rate) == (cut_tokens, 0.3)
    assert second.first == 1  # behind the padding's position


MASK = torch.tensor([[1, 1, 1, 1, 1, 0], [1, 1, 1, 1, 1, 1]])


def test_a_feature_that_is_cut_is_0_at_every_token_of_its_sentence() -> None:
    torch.manual_seed(0)
    states = torch.rand(2, 6, 10) + 1
    result = cut_features(states, MASK, 0.2)
    zero = result == 0
    assert (zero.sum(dim=2) == 2).all()
    assert (zero == zero[:, :1]).all()
    assert torch.equal(result[~zero], states[~zero])  # and nothing is scaled up
    assert ((cut_features(states, MASK, 0.29) == 0).sum(dim=2) == 2).all()  # as in the authors' code, rounded down
    assert len({tuple(cut_features(states, MASK, 0.2)[i, 0].eq(0).tolist()) for _ in range(9) for i in (0, 1)}) > 2


def test_a_token_that_is_cut_is_a_real_one_and_0_throughout() -> None:
    torch.manual_seed(0)
    for _ in range(20):
        zero = cut_tokens(torch.ones(2, 6, 3), MASK, 0.4) == 0
        assert (zero == zero[:, :, :1]).all()
        assert zero[:, :, 0].sum(dim=1).tolist() == [2, 2]
        assert not zero[0, 5].any()


def test_places_are_shuffled_among_real_tokens_alone() -> None:
    torch.manual_seed(0)
    drawn = [shuffled_places(MASK) for _ in range(200)]
    assert all(sorted(row.tolist()) == list(range(6)) for places in drawn for row in places)
    assert {int(places[0, 5]) for places in drawn} == {5}
    assert {int(places[0, 0]) for places in drawn} == {0, 1, 2, 3, 4}


@pytest.mark.parametrize("family", ["bert", "roberta", "distilbert"])
def test_shuffled_positions_are_shuffled_tokens(tiny: Tiny, family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = loaded(tiny, family, "simcse+mean+recipe(dropout=1e-9)")
    ids, mask, content, anchor = batch_of(encoder, ["a man is eating pizza", "the dog"])
    places = shuffled_places(mask)
    monkeypatch.setattr("cseb.parts.views.shuffled_places", lambda mask: places)
    first = encoder.config.pad_token_id + 1 if family == "roberta" else 0
    result = PositionShuffle(first)(encoder, ids, mask, content, anchor).h
    moved = torch.zeros_like(ids).scatter(1, places, ids)  # the token itself where its position was put
    assert torch.allclose(result, encoder(moved, mask, content, anchor).h, atol=1e-6)
    assert not torch.allclose(result, encoder(ids, mask, content, anchor).h, atol=1e-3)


@pytest.mark.parametrize("family", FAMILIES)
def test_cutoff_changes_vectors_and_leaves_no_hook(tiny: Tiny, family: str) -> None:
    model = loaded(tiny, family, "consert+embedding_edits(second=token_cutoff)")
    clean = seeded(AtRate(0.0), model, 1)

    def quiet(encoder, *rest):
        with dropout_at(encoder.backbone, 0.0):
            return Cutoff(cut_features, 0.5)(encoder, *rest)

    assert not torch.allclose(seeded(quiet, model, 1), clean)
    assert torch.equal(seeded(AtRate(0.0), model, 1), clean)


def test_what_leaves_the_embedding_layer_is_cut(tiny: Tiny) -> None:
    encoder = loaded(tiny, method="consert")
    all_gone = Cutoff(cut_features, 1.0)(encoder, *batch_of(encoder, SENTENCES))
    assert not all_gone.layers[0].any()
    block = batch_of(encoder, ["a man", SENTENCES[0]])
    gone = (Cutoff(cut_tokens, 1.0)(encoder, *block).layers[0] == 0).all(dim=2)
    assert gone.equal(block[1] == 1)  # padding is no token
    assert torch.equal(Plain()(encoder, *batch_of(encoder, SENTENCES)).h, encoder(*batch_of(encoder, SENTENCES)).h)
