"""The auxiliary masked-LM network (InfoCSE): its equations in loops, what it reads, who learns, and what it refuses."""

import math

import pytest
import torch
from transformers import AutoModel

from cseb.encoder.interface import EncodedView
from cseb.encoder.loading import shape_of
from cseb.parts import LossInputs
from cseb.parts.terms.masked_language_modelling import AuxMLM, corrupt
from tests.training.small_runs import Tiny, built_of

IDS = torch.tensor([[2, 8, 9, 10, 3], [2, 8, 11, 3, 0]])
MASK = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 1, 0]])
CONTENT = torch.tensor([[0, 1, 1, 1, 0], [0, 1, 1, 0, 0]])
OPTIONS = {"rate": 0.5, "frozen_layers": 1, "layers": 1, "inner": 8, "dropout": 0.0}


def built(tiny: Tiny, family: str = "bert", **options: object) -> AuxMLM:
    """The term beside a tiny encoder, its new layers given weights that make a difference."""
    given = ",".join(f"{name}={value}" for name, value in (OPTIONS | options).items())
    term = built_of(tiny, f"infocse+aux_mlm({given})", family).terms[1].term
    assert isinstance(term, AuxMLM)
    drawn = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for weight in term.new_layers.parameters():
            weight.add_(torch.randn(weight.shape, generator=drawn) / 4)
    return term.train()


def step(vectors: torch.Tensor, seed: int = 0) -> LossInputs:
    """Two views of one sentence each; vectors: (2, 16)."""
    rows = zip(vectors.split(1), IDS.split(1), MASK.split(1), CONTENT.split(1), strict=True)
    views = [EncodedView(h, torch.zeros(1, 3), ids, mask, content) for h, ids, mask, content in rows]
    return LossInputs(views, torch.Generator().manual_seed(seed))


def test_it_equals_the_equations_written_out(tiny: Tiny) -> None:
    term = built(tiny)
    vectors = torch.randn(2, 16, generator=torch.Generator().manual_seed(3))
    rng = torch.Generator().manual_seed(0)  # as the term draws
    selected = (torch.rand(IDS.shape, generator=rng) < 0.5) & CONTENT.bool()
    hidden = corrupt(IDS, selected, term.shape.mask_id, term.shape.vocabulary, rng)
    start = AutoModel.from_pretrained(tiny("bert")).eval()
    costs = []
    for row in range(2):
        real = int(MASK[row].sum())
        with torch.no_grad():  # the first layer of the start, over the masked text without padding
            states = start(input_ids=hidden[row : row + 1, :real], output_hidden_states=True).hidden_states[1][0]
        rows = term.new_layers[0](torch.cat([vectors[row : row + 1], states[1:]])[None])[0]
        for place in range(real):
            if selected[row, place]:
                logits = term.language(rows[place]).tolist()
                costs.append(math.log(sum(map(math.exp, logits))) - logits[IDS[row, place]])
    assert len(costs) > 1
    assert term(step(vectors)).item() == pytest.approx(sum(costs) / len(costs), rel=1e-5)


@pytest.mark.parametrize("family", ["bert", "roberta", "mpnet", "modernbert", "distilbert"])
def test_every_family_learns_through_its_vector_and_the_frozen_layers_do_not(tiny: Tiny, family: str) -> None:
    term = built(tiny, family, rate=1.0)
    vectors = torch.randn(2, 16, generator=torch.Generator().manual_seed(3)).requires_grad_()
    cost = term(step(vectors))
    cost.backward()
    assert 0 < cost.item() < 3 * math.log(term.shape.vocabulary)
    assert (vectors.grad.abs().sum(dim=1) > 0).all()
    trained = {name.split(".")[0] for name, weight in term.named_parameters() if weight.grad is not None}
    assert trained == {"new_layers", "language_weights"}
    assert not any(weight.requires_grad for weight in term.frozen.parameters())
    assert not any(module.training for module in term.frozen.modules())  # as in the release, at every step
    assert len(AutoModel.from_pretrained(tiny(family)).state_dict()) > len(term.frozen.state_dict())  # fewer layers


def test_padding_is_not_looked_at_and_other_words_are(tiny: Tiny) -> None:
    term, vectors = built(tiny), torch.ones(2, 16)
    before = term.states(IDS, MASK, vectors)
    wider = [torch.nn.functional.pad(value, (0, 2)) for value in (IDS, MASK)]
    assert torch.allclose(term.states(*wider, vectors)[:, :5][MASK.bool()], before[MASK.bool()], atol=1e-5)
    other = IDS.clone()
    other[0, 2] = 20
    assert not torch.allclose(term.states(other, MASK, vectors)[0], before[0], atol=1e-3)


def test_half_of_the_layers_are_frozen_unless_a_number_is_given(tiny: Tiny) -> None:
    shape = shape_of(tiny("bert"))
    taken = [AuxMLM(**(OPTIONS | {"frozen_layers": given}), shape=shape).depth for given in ("half", 2)]
    assert taken == [1, 2]


def test_new_layers_are_those_of_bert_without_dropout_behind_the_activation(tiny: Tiny) -> None:
    layer = built(tiny, dropout=0.3).new_layers[0]
    assert (layer.self_attn.dropout, layer.dropout1.p, layer.dropout2.p) == (0.3, 0.3, 0.3)
    assert isinstance(layer.dropout, torch.nn.Identity)
    assert (layer.norm_first, layer.activation, layer.norm1.eps) == (False, torch.nn.functional.gelu, 1e-12)
