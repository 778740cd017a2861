"""IS-BERT's term: the estimate in loops."""

import math

import pytest
import torch

from cseb.parts.terms.mutual_information import jsd_local_global


def test_mutual_information_equals_the_sums_written_out_and_padding_does_not_count() -> None:
    rng = torch.Generator().manual_seed(0)
    local = torch.randn(3, 4, 5, generator=rng, dtype=torch.float64, requires_grad=True)
    sentences = torch.randn(3, 5, generator=rng, dtype=torch.float64, requires_grad=True)
    mask = torch.tensor([[1, 1, 0, 0], [1, 1, 1, 1], [1, 0, 0, 0]])
    positive, negative = [], []
    for b in range(3):
        for t in range(int(mask[b].sum())):
            for other in range(3):
                score = (local[b, t] @ sentences[other]).item()
                soft = math.log1p(math.exp(-score))
                (positive if other == b else negative).append(
                    math.log(2) - soft if other == b else soft + score - math.log(2)
                )
    expected = sum(negative) / len(negative) - sum(positive) / len(positive)
    assert (len(positive), len(negative)) == (7, 14)
    assert jsd_local_global(local, mask, sentences).item() == pytest.approx(expected)
    assert torch.autograd.gradcheck(lambda a, b: jsd_local_global(a, mask, b), (local, sentences))
    assert jsd_local_global(local[:1], mask[:1], sentences[:1]).isfinite()
    assert jsd_local_global(local * 0, mask, sentences).item() == pytest.approx(0)
