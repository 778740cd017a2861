"""Contrasts that discount false negatives: their equations in loops, published cases, and where no gradient flows."""

import math
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from cseb.parts import LossInputs
from cseb.parts.terms.false_negatives import FilteredBCE, GaussianNCE, decay, filtered_bce, gaussian_nce, softmax_bce
from cseb.parts.terms.infonce import cosines, info_nce
from tests.parts.terms.two_views import cosine, debiased, random, step


def flagged(frozen: list[torch.Tensor], threshold: float) -> list[list[bool]]:
    return [[i != j and cosine(a, b) > threshold for j, b in enumerate(frozen[1])] for i, a in enumerate(frozen[0])]


@pytest.mark.parametrize("form", ["released", "weighted"])
def test_flagged_negatives_do_not_count(form: str) -> None:
    left, right = random(4)
    frozen = [z.detach() for z in random(4, seed=5)]
    out = flagged(frozen, 0.3)
    assert 0 < sum(map(sum, out)) < 12
    total = 0.0
    for i in range(4):
        logits = [cosine(left[i], right[j]) / 0.5 for j in range(4)]
        if form == "weighted":
            total -= logits[i] - math.log(sum(math.exp(logits[j]) for j in range(4) if not out[i][j]))
            continue
        logits = [0.0 if out[i][j] else logits[j] for j in range(4)]
        chances = [math.exp(value) / sum(map(math.exp, logits)) for value in logits]
        total -= sum(math.log(chances[j] if j == i else 1 - chances[j]) for j in range(4)) / 4
    loss = debiased(noise=0.0, form=form)(replace(step(left, right), frozen=[frozen]))
    assert loss.item() == pytest.approx(total / 4)


def test_noise_climbs_and_stays_a_constant() -> None:
    left, right = random(4)
    batch = torch.zeros(4, 4, dtype=torch.float64)

    def cost(ascents: int) -> float:
        term = debiased(noise=1.5, ascents=ascents)
        noise = term.hardest(left.detach(), batch, torch.Generator().manual_seed(1))
        assert noise.shape == (6, 4)
        assert not noise.requires_grad
        return (F.normalize(left, dim=1) @ F.normalize(noise, dim=1).T / 0.5).exp().sum(dim=1).log1p().sum().item()

    assert cost(0) < cost(2) < cost(8)
    with_noise = debiased(noise=1.5)(replace(step(left, right), frozen=[[left.detach(), right.detach()]]))
    with_noise.backward()
    assert left.grad is not None


def test_noise_is_a_column_that_has_climbed_steps_of_a_fixed_length() -> None:
    left, right = random(4)
    noise = torch.randn(6, 4, generator=torch.Generator().manual_seed(3)).double()

    def cost(noise: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(torch.cat([cosines(left, right), cosines(left, noise)], dim=1) / 0.5, torch.arange(4))

    for _ in range(2):
        slope = torch.autograd.grad(cost(start := noise.requires_grad_()), start)[0]
        noise = (start + 0.1 * slope / slope.norm(dim=1, keepdim=True)).detach()
    inputs = replace(step(left, right), frozen=[[left.detach(), right.detach()]], rng=torch.Generator().manual_seed(3))
    term = debiased(threshold=1.0, noise=1.5, ascents=2, size=0.1, form="weighted")
    assert term(inputs).item() == pytest.approx(cost(noise).item())


def test_a_negative_that_is_certain_has_a_finite_loss_and_gradient() -> None:
    logits = torch.tensor([[-50.0, 50.0], [50.0, -50.0]], requires_grad=True)
    loss = softmax_bce(logits, torch.ones(2, 2, dtype=torch.bool))
    loss.backward()
    assert loss.isfinite()
    assert logits.grad.isfinite().all()


ANCHORS = torch.tensor([[1.0, 0.2], [0.3, 1.0], [-0.8, 0.5]], dtype=torch.float64)
POSITIVES = torch.tensor([[0.9, 0.1], [0.5, 1.0], [-1.0, 0.2]], dtype=torch.float64)
NEGATIVES = torch.tensor([[0.7, 0.9], [1.0, 0.4], [-0.2, 1.0]], dtype=torch.float64)
FROZEN = torch.tensor([0.8, 0.6, 0.9], dtype=torch.float64)
TRIPLE = (ANCHORS, POSITIVES, NEGATIVES)
CASES = [  # alpha, own hard negatives' logits, loss
    (0.17, [15.136422396737, 12.450471316431, 13.72025737378], 0.324826013632),
    (2.0, [1.347148417469, 12.450471316431, 12.330194800597], 0.321565922351),
    (8.58, [0.076468958495, 12.450471316431, 1.604941636749], 0.32100094616),
]


def gaussian_by_hand(temperature: float, alpha: float) -> float:
    total = 0.0
    for i in range(3):
        logits = [cosine(ANCHORS[i], value) / temperature for value in (*POSITIVES, *NEGATIVES)]
        z, b = logits[3 + i], float(FROZEN[i]) / temperature
        if z <= b:
            logits[3 + i] = z - z * math.exp(-((z - b) ** 2) / (2 * alpha**2))
        total += math.log(sum(math.exp(value - logits[i]) for value in logits))
    return total / 3


@pytest.mark.parametrize(("alpha", "logits", "loss"), CASES)
def test_the_decay_equals_published_cases_and_loops(alpha: float, logits: list[float], loss: float) -> None:
    own = torch.tensor([cosine(a, n) / 0.05 for a, n in zip(ANCHORS, NEGATIVES, strict=True)], dtype=torch.float64)
    assert decay(own, FROZEN / 0.05, alpha).tolist() == pytest.approx(logits, abs=1e-9)
    value = gaussian_nce(*TRIPLE, FROZEN, 0.05, alpha).item()
    assert value == pytest.approx(loss, abs=1e-9)
    assert value == pytest.approx(gaussian_by_hand(0.05, alpha), abs=1e-12)


def test_without_decay_it_is_the_plain_contrast_with_hard_negatives() -> None:
    plain = info_nce(ANCHORS, torch.cat([POSITIVES, NEGATIVES]), 0.05).item()
    assert plain == pytest.approx(0.324826072488, abs=1e-9)
    below = torch.full_like(FROZEN, -1.0)  # the frozen model finds every pair farther apart than the encoder
    assert gaussian_nce(*TRIPLE, below, 0.05, 8.58).item() == pytest.approx(plain, abs=1e-12)
    assert gaussian_nce(*TRIPLE, FROZEN, 0.05, 1e-6).item() == pytest.approx(plain, abs=1e-12)


def test_the_gradient_passes_as_if_the_decay_were_a_constant() -> None:
    own = torch.tensor([3.0, 5.0], requires_grad=True)
    decay(own, torch.tensor([4.0, 4.0]), 2.0).sum().backward()
    assert own.grad.tolist() == [1.0, 1.0]


def filtered_by_hand(frozen: tuple[torch.Tensor, ...], temperature: float, threshold: float) -> float:
    total = 0.0
    for i in range(3):
        logits = []
        for j, (own, seen) in enumerate(zip((*POSITIVES, *NEGATIVES), (*frozen[1], *frozen[2]), strict=True)):
            doubted = j != i and cosine(frozen[0][i], seen) > threshold
            logits.append(0.0 if doubted else cosine(ANCHORS[i], own) / temperature)
        whole = sum(map(math.exp, logits))
        chances = [math.exp(value) / whole for value in logits]
        total -= sum(math.log(chance if j == i else 1 - chance) for j, chance in enumerate(chances))
    return total / 18


@pytest.mark.parametrize("threshold", [1.0, 0.9, 0.5, -1.0])
def test_the_filtered_loss_equals_its_loops(threshold: float) -> None:
    frozen = tuple(value.flip(0) for value in TRIPLE)
    loss = filtered_bce(TRIPLE, frozen, 0.5, threshold).item()
    assert loss == pytest.approx(filtered_by_hand(frozen, 0.5, threshold), abs=1e-12)


def test_a_doubted_negative_has_no_pull() -> None:
    negatives = NEGATIVES.clone().requires_grad_()
    filtered_bce((ANCHORS, POSITIVES, negatives), (ANCHORS, POSITIVES, ANCHORS), 0.5, -1.0).backward()
    assert not negatives.grad.any()  # with everything doubted only positives move


def inputs(frozen: tuple[torch.Tensor, ...]) -> LossInputs:
    views = [*step(ANCHORS, POSITIVES).views, *step(NEGATIVES, NEGATIVES).views[:1]]
    return LossInputs(views, torch.Generator(), frozen=[frozen])


def test_the_parts_read_the_frozen_model_of_three_views() -> None:
    frozen = tuple(value.flip(0) for value in TRIPLE)
    similar = torch.nn.functional.cosine_similarity(frozen[0], frozen[2])
    assert GaussianNCE(0.05, 2.0)(inputs(frozen)) == gaussian_nce(*TRIPLE, similar, 0.05, 2.0)
    assert FilteredBCE(0.5, 0.9)(inputs(frozen)) == filtered_bce(TRIPLE, frozen, 0.5, 0.9)
