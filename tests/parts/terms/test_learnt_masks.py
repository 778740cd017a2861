"""Learnt masks: the whole step in plain loops, and what it leaves alone."""

import math
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
import transformers
from torch import Tensor

from cseb.encoder.interface import EncodedView
from cseb.errors import BadSpec
from cseb.methods.grammar import parse_method
from cseb.parts import LossInputs
from cseb.parts.terms.adversarial import binary_mask
from cseb.training.build import Built, check
from tests.training.small_runs import Tiny, batch_of, built_of

TEXTS = ["the cat sat", "a dog ran away from the house", "two birds"]


def small(tiny: Tiny, options: str = "") -> Built:
    """In float64, without dropout."""
    built = built_of(tiny, f"l2p-csr+learnt_mask_nce(points=2{options})")
    built.encoder.double().eval()
    return built


def step(built: Built) -> LossInputs:
    """Both views of the texts, of which only ids and mask are there."""
    encoder = built.encoder
    ids, mask, content, _ = batch_of(encoder, TEXTS, 1)
    nothing = torch.full((len(TEXTS), 1), math.nan)
    views = [EncodedView(nothing, nothing, ids, mask, content)] * 2
    return LossInputs(views, torch.Generator().manual_seed(5), head=encoder.project)


def loss_in_loops(built: Built, ids: Tensor, mask: Tensor, tokens: Tensor, features: Tensor) -> Tensor:
    """The loss of masked views, layer by layer and row by row; no hook, no batch."""
    encoder: Any = built.encoder
    vectors = []
    for row in range(len(ids)):
        real = int(mask[row].sum())
        states = encoder.backbone.embeddings(input_ids=ids[row : row + 1, :real])
        for point, layer in enumerate(encoder.backbone.encoder.layer):
            if point < len(tokens):
                factors = [(tokens[point, row, t, 0] + features[point, 0, 0]) / 2 for t in range(real)]
                states = states * torch.stack(factors)
            left = layer(states)
            states = left if isinstance(left, Tensor) else left[0]
        vectors.append(encoder.project(states[:, 0])[0])
    half = len(ids) // 2
    losses = []
    for i in range(half):
        cosines = [F.cosine_similarity(vectors[i], vectors[half + j], dim=0) / 0.05 for j in range(half)]
        losses.append(torch.stack(cosines).logsumexp(dim=0) - cosines[i])
    return torch.stack(losses).mean()


def test_a_step_equals_loops_over_rows_layers_and_tokens(tiny: Tiny) -> None:
    built = small(tiny, ",threshold=0.3,ascents=2")
    term: Any = built.terms[0].term
    given = step(built)
    ids, mask = (torch.cat([getattr(view, name) for view in given.views]) for name in ("ids", "mask"))
    tokens, features = (scores.double() for scores in term.draw(ids, torch.Generator().manual_seed(5)))
    for _ in range(2):
        masks = [(scores > 0.3).double().requires_grad_() for scores in (tokens, features)]
        slopes = torch.autograd.grad(loss_in_loops(built, ids, mask, *masks), masks)
        moved = []
        for scores, slope in zip((tokens, features), slopes, strict=True):
            lengths = slope.square().sum(dim=-1, keepdim=True).sqrt()
            up = (scores + 0.1 * slope / lengths).clamp(0, 1)
            moved.append(torch.where(lengths == 0, torch.ones_like(up), up))
        tokens, features = moved
    expected = loss_in_loops(built, ids, mask, (tokens > 0.3).double(), (features > 0.3).double())
    assert term(given).item() == pytest.approx(expected.item(), rel=1e-6)


def test_weights_learn_from_the_last_pass_alone_and_no_hook_is_left(tiny: Tiny) -> None:
    built = small(tiny)
    term: Any = built.terms[0].term
    given = step(built)
    ids, mask = (torch.cat([getattr(view, name) for view in given.views]) for name in ("ids", "mask"))
    tokens, features = term.hardest(given, ids, mask)
    weights = [*built.encoder.parameters()]
    assert all(weight.grad is None for weight in weights)
    assert not tokens.requires_grad
    last = term.cost(given, ids, mask, binary_mask(tokens, 0.05), binary_mask(features, 0.05))
    expected = torch.autograd.grad(last, weights, allow_unused=True)
    result = torch.autograd.grad(term(step(built)), weights, allow_unused=True)
    assert all((a is None) == (b is None) and (a is None or a.equal(b)) for a, b in zip(expected, result, strict=True))
    assert not any(module._forward_hooks for module in built.encoder.modules())


UNMASKABLE = [
    ("AlbertConfig", "the layers of this encoder are no separate modules"),  # one for all
    ("ElectraConfig", "embeddings have 8 features and its layers 16"),
    ("RemBertConfig", "embeddings have 8 features and its layers 16"),
]


@pytest.mark.parametrize(("family", "message"), UNMASKABLE)
def test_an_encoder_that_cannot_be_masked_is_refused(tmp_path: Path, tiny: Tiny, family: str, message: str) -> None:
    shutil.copytree(tiny("bert"), tmp_path, dirs_exist_ok=True)
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
    sizes |= {"embedding_size": 8, "input_embedding_size": 8}
    config = getattr(transformers, family)(vocab_size=200, pad_token_id=0, **sizes)
    transformers.AutoModel.from_config(config).save_pretrained(tmp_path)
    with pytest.raises(BadSpec, match=message):
        check(parse_method("l2p-csr").at(1.0), tmp_path)
