"""SCD's two terms, self-contrast and decorrelation of dimensions: the equations in loops, and where they are 0."""

import math

import pytest
import torch

from cseb.parts.terms.dimension_contrast import CrossCorrelation, MeanCos
from tests.parts.terms.two_views import cosine, random, step


def test_self_contrast_is_the_mean_cosine_over_the_temperature() -> None:
    left, right = random(3)
    expected = sum(cosine(a, b) for a, b in zip(left, right, strict=True)) / 3 / 0.05
    assert MeanCos(temperature=0.05)(step(left, right)).item() == pytest.approx(expected)
    assert MeanCos(temperature=0.05)(step(left, left)).item() == pytest.approx(20)


def test_cross_correlation_equals_the_sums_written_out() -> None:
    left, right = random(5)
    total = 0.0
    for j in range(4):
        for k in range(4):
            a, b = left[:, j].tolist(), right[:, k].tolist()
            ma, mb = sum(a) / 5, sum(b) / 5
            va, vb = sum((x - ma) ** 2 for x in a), sum((y - mb) ** 2 for y in b)
            rho = sum((x - ma) * (y - mb) for x, y in zip(a, b, strict=True)) / math.sqrt(va * vb)
            total += (rho - 1) ** 2 if j == k else 0.012 * rho**2
    assert CrossCorrelation(off_diagonal=0.012)(step(left, right)).item() == pytest.approx(total)


def test_cross_correlation_of_equal_whitened_views_is_0() -> None:
    whitened = torch.linalg.qr(torch.randn(6, 4, dtype=torch.float64) - 0.0)[0]
    whitened = torch.linalg.qr(whitened - whitened.mean(dim=0))[0]  # columns of mean 0, orthogonal
    assert CrossCorrelation(off_diagonal=1.0)(step(whitened, whitened)).item() == pytest.approx(0, abs=1e-12)
    one = random(1)
    assert CrossCorrelation(off_diagonal=1.0)(step(*one)).item() == 4  # no spread, no correlation
