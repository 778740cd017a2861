"""Terms on dimensions: correlations in loops, numbers worked out by hand, and SCD's self-contrast."""

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


def test_correlations_in_both_normalisations() -> None:
    pearson = [[0.8, 0.0, 0.0], [-0.4, 0.7453559925, 1.0], [0.0, 0.979957887, 0.8366600265]]
    assert torch.allclose(correlations(H, PLUS, centre=True), torch.tensor(pearson, dtype=torch.float64), atol=1e-9)
    columns = [
        [0.9666666667, 0.7827803639, 0.7319250547],
        [0.7666666667, 0.9393364366, 0.9759000729],
        [0.6666666667, 0.9706476512, 0.9271050693],
    ]
    assert torch.allclose(correlations(H, PLUS, centre=False), torch.tensor(columns, dtype=torch.float64), atol=1e-9)


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


def test_released_standardising() -> None:
    released = [
        [0.5999990705, 0.0, 0.0],
        [-0.2999995352, 0.5590162386, 0.7499988381],
        [0.0, 0.7349676507, 0.6274942434],
    ]
    result = correlations(H, PLUS, centre=True, deviation="unbiased")
    assert torch.allclose(result, torch.tensor(released, dtype=torch.float64), atol=1e-9)
    assert dcm("balanced", deviation="unbiased")(step(H, PLUS)).item() == pytest.approx(0.338757602, abs=1e-8)
    diagonal = correlations(H, H, centre=True, deviation="unbiased").diagonal()
    assert diagonal.tolist() == pytest.approx([0.75] * 3, abs=1e-5)  # (B - 1) / B


def test_released_standardising_equals_its_loops() -> None:
    c = correlations(H, PLUS, centre=True, deviation="unbiased")
    for i in range(3):
        for j in range(3):
            left, right = H[:, i], PLUS[:, j]
            u = (left - left.mean()) / (left.std() + 1e-6)
            v = (right - right.mean()) / (right.std() + 1e-6)
            assert c[i, j].item() == pytest.approx((u * v).sum().item() / 4)


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


def test_balanced_equals_its_loops() -> None:
    c = torch.corrcoef(torch.cat([H, PLUS], dim=1).T)[:3, 3:]
    diagonal = sum((c[i, i] - 1) ** 2 for i in range(3)) / 3
    others = sum(c[i, j] ** 2 for i in range(3) for j in range(3) if i != j) / 6
    assert dcm(form="balanced", centre=True)(step(H, PLUS)).item() == pytest.approx(
        (2 * diagonal + 0.05 * others).item()
    )


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
