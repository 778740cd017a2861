"""MixCSE's mixed negatives: both forms in loops, and what no gradient flows into."""

import math

import pytest
import torch
import torch.nn.functional as F

from cseb.parts.terms.contrast_in_batch import MixedInfoNCE, mix_neighbours
from cseb.parts.terms.infonce import cosines
from tests.parts.terms.two_views import cosine, random, step


def test_released_mixtures_equal_the_sum_written_out() -> None:
    left, right = random(3)
    m1, m2 = ([0.2 * z[i] + 0.8 * z[(i + 1) % 3] for i in range(3)] for z in (left, right))
    total = 0.0
    for i in range(3):
        columns = [cosine(left[i], right[j]) for j in range(3)]
        columns += [0.0 if j == (i - 1) % 3 else cosine(left[i], m2[j]) for j in range(3)]
        columns += [0.0 if j == (i + 1) % 3 else cosine(m1[i], right[j]) for j in range(3)]
        total -= math.log(math.exp(columns[i] / 0.05) / sum(math.exp(one / 0.05) for one in columns))
    found = MixedInfoNCE(temperature=0.05, mix=0.2, form="released")(step(left, right))
    assert found.item() == pytest.approx(total / 3)


def test_the_papers_mixture_is_one_more_candidate() -> None:
    left, right = random(3)
    unit = F.normalize(right, dim=-1)
    total = 0.0
    for i in range(3):
        columns = [cosine(left[i], right[j]) for j in range(3)]
        columns.append(cosine(left[i], 0.2 * unit[i] + 0.8 * unit[(i + 1) % 3]))
        total -= math.log(math.exp(columns[i] / 0.05) / sum(math.exp(one / 0.05) for one in columns))
    found = MixedInfoNCE(temperature=0.05, mix=0.2, form="paper")(step(left, right))
    assert found.item() == pytest.approx(total / 3)


def test_no_gradient_flows_into_a_mixture() -> None:
    left, right = random(3)
    found = torch.autograd.grad(MixedInfoNCE(temperature=0.5, mix=0.2, form="paper").loss(left, right), right)[0]
    mixture = mix_neighbours(F.normalize(right, dim=-1), 0.2)
    logits = torch.cat([cosines(left, right), F.cosine_similarity(left, mixture, dim=-1)[:, None]], dim=1) / 0.5
    assert torch.allclose(found, torch.autograd.grad(F.cross_entropy(logits, torch.arange(3)), right)[0])
    assert not mixture.requires_grad
    far = [z.detach().requires_grad_() for z in (left, right)]
    third = cosines(mix_neighbours(far[0], 0.2), far[1]).sum()  # the anchors' mixtures move the positives alone
    assert torch.autograd.grad(third, far, allow_unused=True)[0] is None


def test_one_sentence_has_nothing_to_mix_with() -> None:
    for form in ("released", "paper"):
        assert MixedInfoNCE(temperature=0.5, mix=0.2, form=form)(step(*random(1))).item() == 0
