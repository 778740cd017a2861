"""Terms on dimensions: correlations in loops, forms worked out by hand, and SCD's self-contrast."""

import math
from dataclasses import replace

import pytest
import torch

from cseb.parts.terms.dimension_contrast import DCM, CrossCorrelation, MeanCos, correlations
from tests.parts.terms.two_views import cosine, random, step

H = torch.tensor([[1.0, 2.0, 0.0], [3.0, 1.0, 1.0], [2.0, 4.0, 5.0], [4.0, 3.0, 2.0]], dtype=torch.float64)
PLUS = torch.tensor([[1.0, 1.0, 1.0], [4.0, 2.0, 0.0], [2.0, 5.0, 3.0], [3.0, 2.0, 2.0]], dtype=torch.float64)


def dcm(form: str, centre: bool = True, deviation: str = "population", on: str = "h") -> DCM:
    return DCM(form=form, centre=centre, deviation=deviation, on=on)


@pytest.mark.parametrize(
    ("form", "centre", "value"),
    [
        ("balanced", True, 0.1053516572),
        ("sum", True, 2.2518409778),
        ("per_dimension", True, 0.7506136593),
        ("per_element", True, 0.2502045531),
        ("sum", False, 4.0853242711),
        ("per_dimension", False, 1.361774757),
        ("per_element", False, 0.453924919),
    ],
)
def test_dcm_gives_the_number_worked_out_by_hand(form: str, centre: bool, value: float) -> None:
    assert dcm(form=form, centre=centre)(step(H, PLUS)).item() == pytest.approx(value, abs=1e-8)


@pytest.mark.parametrize(("centre", "deviation"), [(True, "population"), (False, "population"), (True, "unbiased")])
def test_correlations_equal_their_loops(centre: bool, deviation: str) -> None:
    result = correlations(H, PLUS, centre=centre, deviation=deviation)
    for i in range(3):
        for j in range(3):
            u, v = ([x - sum(side) / 4 * centre for x in side] for side in (H[:, i].tolist(), PLUS[:, j].tolist()))
            size = 3 if deviation == "unbiased" else 4
            spreads = [math.sqrt(sum(x * x for x in side) / size) for side in (u, v)]
            expected = sum(a * b for a, b in zip(u, v, strict=True)) / spreads[0] / spreads[1] / 4
            assert result[i, j].item() == pytest.approx(expected, rel=1e-5)


def test_first_tokens_of_the_last_layer_may_be_compared_instead() -> None:
    term = dcm("balanced", on="first")
    assert term.needs == {"layers"}
    assert not dcm("balanced").needs
    far = step(H + 7, PLUS.flip(0))
    views = [
        replace(view, layers=(torch.randn(4, 2, 3), torch.stack([values, 99 * values], dim=1)))
        for view, values in zip(far.views, (H, PLUS), strict=True)
    ]
    assert term(replace(far, views=views)).item() == pytest.approx(0.1053516572, abs=1e-8)


def test_dead_dimensions_and_single_sentences_are_finite() -> None:
    dead = H.clone()
    dead[:, 1] = 3.0
    dead.requires_grad_()
    dcm(form="balanced", centre=True)(step(dead, PLUS)).backward()
    assert torch.isfinite(dead.grad).all()
    for deviation in ("population", "unbiased"):
        assert torch.isfinite(dcm("balanced", deviation=deviation)(step(H[:1], PLUS[:1])))
        assert torch.isfinite(dcm("balanced", deviation=deviation)(step(torch.ones_like(H), PLUS)))


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
    pair = random(1)
    assert CrossCorrelation(off_diagonal=1.0)(step(*pair)).item() == 4  # no spread, no correlation
