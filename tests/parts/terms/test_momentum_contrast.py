"""The slow copy of MoCoSE: how it follows, what it holds, and who gets a gradient."""

from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

from cseb.encoder.interface import Shape
from cseb.errors import BadSpec
from cseb.parts import LossInputs
from cseb.parts.terms.memory_contrast import MomentumNCE, cosine_momentum
from cseb.training.build import Built
from tests.conftest import SENTENCES
from tests.training.small_runs import Tiny, batch_of, built_of


def small(tiny: Tiny, options: str = "", family: str = "bert") -> tuple[Built, MomentumNCE]:
    text = f"mocose+momentum_nce(size=6,start=2,dropout=0.0{options})+recipe(steps=10,batch_size=4,dropout=0.0)"
    built = built_of(tiny, text, family)
    term = built.terms[0].term
    assert isinstance(term, MomentumNCE)
    return built, term.train()


def step(built: Built, sids: list[int]) -> LossInputs:
    texts = [SENTENCES[sid] for sid in sids]
    return LossInputs([built.encoder(*batch_of(built.encoder, texts))], torch.Generator(), sids=torch.tensor(sids))


def test_momentum_rises_to_1_over_the_run() -> None:
    momenta = [cosine_momentum(0.85, done, 10) for done in (0, 5, 10, 12)]
    assert momenta == pytest.approx([0.85, 0.925, 1.0, 1.0])


def test_the_loss_is_the_contrast_with_keys_of_the_batch_and_the_queue(tiny: Tiny) -> None:
    built, term = small(tiny)
    inputs = step(built, [0, 1, 2])
    queue = term.keys.clone()
    assert torch.allclose(queue.norm(dim=1), torch.ones(2))
    keys = term.projection(inputs.views[0].h)  # without dropout the copy is the encoder as loaded
    predicted = term.predictor(keys)
    logits = F.normalize(predicted, dim=1) @ F.normalize(torch.cat([keys, queue]), dim=1).T / 0.05
    assert term(inputs).item() == pytest.approx(F.cross_entropy(logits, torch.arange(3)).item(), rel=1e-4)
    assert torch.allclose(term.keys[:3], keys, atol=1e-5)  # the newest in front
    assert torch.equal(term.keys[3:], queue)
    assert term.sids.tolist() == [0, 1, 2, -1, -1]
    term(step(built, [3, 1]))
    assert term.sids.tolist() == [3, 1, 0, 1, 2, -1]  # full; the oldest is gone
    assert not term.keys.requires_grad


def test_a_sentence_never_meets_its_own_old_key(tiny: Tiny) -> None:
    built, term = small(tiny)
    term(step(built, [0, 1]))
    inputs = step(built, [0])
    loss = term(inputs)
    kept = term.keys.clone()  # after the push: 0, then 0 1 and two random ones
    predicted = F.normalize(term.predictor(term.projection(inputs.views[0].h)), dim=1)
    candidates = F.normalize(kept[[0, 2, 3, 4]], dim=1)
    expected = F.cross_entropy(predicted @ candidates.T / 0.05, torch.tensor([0]))
    assert loss.item() == pytest.approx(expected.item(), rel=1e-4)


@pytest.mark.parametrize(("momentum", "share"), [("1.0", 0.0), ("0.0", 1 - cosine_momentum(0.0, 1, 10))])
def test_the_copy_starts_as_the_encoder_and_follows_after_every_update(tiny: Tiny, momentum: str, share: float) -> None:
    built, term = small(tiny, f",momentum={momentum}")
    for slow, online in zip(term.copy.parameters(), term.online, strict=True):
        assert slow.equal(online)
        assert slow is not online
    before = [slow.clone() for slow in term.copy.parameters()]
    term(step(built, [0, 1]))
    assert all(slow.equal(old) for slow, old in zip(term.copy.parameters(), before, strict=True))
    with torch.no_grad():
        for online in term.online:
            online.add_(1.0)
    term(step(built, [2, 3]))
    for slow, old in zip(term.copy.parameters(), before, strict=True):
        assert torch.allclose(slow, old + share, atol=1e-5)


def test_gradients_reach_encoder_projection_and_predictor_alone(tiny: Tiny) -> None:
    built, term = small(tiny)
    term(step(built, [0, 1, 2])).backward()
    assert all(weight.grad is None and not weight.requires_grad for weight in term.copy.parameters())
    for module in (built.encoder.backbone.encoder, term.projection, term.predictor):
        assert all(weight.grad is not None for weight in module.parameters())


def test_held_out_sentences_change_neither_queue_nor_copy(tiny: Tiny) -> None:
    built, term = small(tiny)
    with torch.no_grad():
        for online in term.online:
            online.add_(1.0)
        before = [slow.clone() for slow in term.copy.parameters()]
        term(step(built, [0, 1]))
    assert term.sids.tolist() == [-1, -1]
    assert term.done == 0
    assert all(slow.equal(old) for slow, old in zip(term.copy.parameters(), before, strict=True))


def test_the_dense_layer_starts_as_the_pre_trained_pooler(tmp_path: Path) -> None:
    from transformers import BertModel

    from tests.conftest import save_tokenizer, tiny_config

    BertModel(tiny_config("bert", save_tokenizer(tmp_path))).save_pretrained(tmp_path)
    built, term = small(lambda family: tmp_path)
    dense = built.encoder.backbone.pooler.dense
    assert term.projection[0].weight.equal(dense.weight)
    assert term.projection[0].bias.equal(dense.bias)


def test_layer_normalisation_is_that_of_bert() -> None:
    shape = Shape(width=4, layers=1, heads=1, mask_token=True, pooled=True, dropout=0.1)
    term = MomentumNCE(0.05, 8, 2, 0.85, 0.1, shape=shape, run_steps=10)
    norms = [module for module in term.modules() if isinstance(module, torch.nn.LayerNorm)]
    assert [norm.eps for norm in norms] == [1e-12, 1e-12]


def test_a_prompt_is_refused(tiny: Tiny) -> None:
    with pytest.raises(BadSpec, match="without a prompt"):
        built_of(tiny, "mocose+mask_prompt")
