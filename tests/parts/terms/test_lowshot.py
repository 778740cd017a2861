"""Terms of the low-shot baselines on two views: the equations in loops, and what all of them must keep to."""

import math
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F

from cseb.errors import BadSpec
from cseb.parts import EncodedView, Step
from cseb.parts.terms.contrast import cosines, info_nce
from cseb.parts.terms.dimension import CrossCorrelation, MeanCos
from cseb.parts.terms.mixing import MixedInfoNCE, mixed, mixed_info_nce_paper
from cseb.parts.terms.ranking import JSConsistency, NegEntropy
from cseb.parts.terms.smoothing import Smooth, smoothed

Term = Callable[[Step], torch.Tensor]

# Every term of two views, and whether it is symmetric in them and blind to the order of the batch.
TERMS: dict[str, tuple[Callable[[], Term], bool, bool]] = {
    "mean_cos": (lambda: MeanCos(temperature=0.5), True, True),
    "cross_correlation": (lambda: CrossCorrelation(off_diagonal=0.3), True, True),
    "js_consistency": (lambda: JSConsistency(temperature=0.5), True, True),
    "neg_entropy": (lambda: NegEntropy(temperature=0.5), True, True),
    "smooth": (lambda: smooth(size=5), False, True),
    "mixed_infonce": (lambda: MixedInfoNCE(temperature=0.5, mix=0.2, form="released"), False, False),
    "mixed_infonce paper": (lambda: MixedInfoNCE(temperature=0.5, mix=0.2, form="paper"), False, False),
}


def smooth(**options: object) -> Smooth:
    settled = {"size": 3, "neighbours": 2, "attention": 2.0, "temperature": 0.5, "exclude_same": False, **options}
    return Smooth(**settled)  # type: ignore[arg-type]


def step(left: torch.Tensor, right: torch.Tensor, sids: list[int] | None = None) -> Step:
    none = torch.zeros(len(left), 1, dtype=torch.long)
    numbers = torch.arange(len(left)) if sids is None else torch.tensor(sids)
    return Step([EncodedView(z, z, none, none, none) for z in (left, right)], torch.Generator(), sids=numbers)


def random(rows: int, seed: int = 0, width: int = 4) -> list[torch.Tensor]:
    rng = torch.Generator().manual_seed(seed)
    return [torch.randn(rows, width, generator=rng, dtype=torch.float64).requires_grad_() for _ in range(2)]


def cosine(a: torch.Tensor, b: torch.Tensor) -> float:
    return (a @ b / a.norm() / b.norm()).item()


@pytest.mark.parametrize("name", [name for name in TERMS if name not in ("smooth", "mixed_infonce")])
def test_gradients_are_those_of_finite_differences(name: str) -> None:
    term = TERMS[name][0]()
    if name == "mixed_infonce paper":  # what is mixed is a constant: anchors alone
        left, right = random(4)
        assert torch.autograd.gradcheck(lambda a: term(step(a, right.detach())), (left,))
    else:
        assert torch.autograd.gradcheck(lambda a, b: term(step(a, b)), random(4))


@pytest.mark.parametrize("name", TERMS)
def test_symmetry_and_order(name: str) -> None:
    make, symmetric, unordered = TERMS[name]
    left, right = random(5)
    order = torch.tensor([3, 0, 4, 1, 2])
    once = make()(step(left, right))
    assert torch.allclose(once, make()(step(right, left))) is symmetric
    assert torch.allclose(once, make()(step(left[order], right[order]))) is unordered


@pytest.mark.parametrize("rows", [1, 2, 5])
@pytest.mark.parametrize("equal", [False, True])
@pytest.mark.parametrize("name", TERMS)
def test_one_sentence_and_equal_sentences_have_a_finite_loss_and_gradient(name: str, equal: bool, rows: int) -> None:
    left, right = (torch.ones(rows, 4, requires_grad=True) for _ in range(2)) if equal else random(rows)
    loss = TERMS[name][0]()(step(left, right))
    loss.backward()
    assert loss.isfinite()
    assert right.grad is not None
    assert all(side.grad is None or side.grad.isfinite().all() for side in (left, right))


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


def test_js_equals_the_sum_written_out() -> None:
    left, right = random(3)
    logits = [[cosine(a, b) / 0.05 for b in right] for a in left]
    total = 0.0
    for i in range(3):
        p = [math.exp(logits[i][j]) / sum(map(math.exp, logits[i])) for j in range(3)]
        column = [math.exp(logits[j][i]) for j in range(3)]
        q = [value / sum(column) for value in column]
        total += sum(x * math.log(2 * x / (x + y)) + y * math.log(2 * y / (x + y)) for x, y in zip(p, q, strict=True))
    assert JSConsistency(temperature=0.05)(step(left, right)).item() == pytest.approx(total / 6)


def test_js_lies_between_0_and_log_2_and_entropy_is_no_consistency() -> None:
    left, right = random(5)
    js, entropy = JSConsistency(temperature=0.05), NegEntropy(temperature=0.05)
    assert js(step(left, left)).item() == pytest.approx(0, abs=1e-12)
    assert 0 < js(step(left, right)).item() < math.log(2)
    assert entropy(step(left, left)).item() < -1e-3  # not 0 where the views agree
    flat = torch.ones(5, 4, dtype=torch.float64)
    assert entropy(step(flat, flat)).item() == pytest.approx(-math.log(5))


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
    found = torch.autograd.grad(mixed_info_nce_paper(left, right, 0.5, 0.2), right)[0]
    mixture = mixed(F.normalize(right, dim=-1), 0.2)
    logits = torch.cat([cosines(left, right), F.cosine_similarity(left, mixture, dim=-1)[:, None]], dim=1) / 0.5
    assert torch.allclose(found, torch.autograd.grad(F.cross_entropy(logits, torch.arange(3)), right)[0])
    assert not mixture.requires_grad
    far = [z.detach().requires_grad_() for z in (left, right)]
    third = cosines(mixed(far[0], 0.2), far[1]).sum()  # the anchors' mixtures move the positives alone
    assert torch.autograd.grad(third, far, allow_unused=True)[0] is None


def test_one_sentence_has_nothing_to_mix_with() -> None:
    for form in ("released", "paper"):
        assert MixedInfoNCE(temperature=0.5, mix=0.2, form=form)(step(*random(1))).item() == 0


def test_smoothing_is_attention_over_the_neighbours_and_oneself() -> None:
    queries, _ = random(2)
    neighbours = torch.randn(2, 3, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    allowed = torch.tensor([[True, True, False], [True, True, True]])
    found = smoothed(queries, neighbours, allowed, 2.0)
    for i in range(2):
        group = [queries[i], *(neighbours[i, j] for j in range(3) if allowed[i, j])]
        weights = [math.exp((queries[i] @ one).item() / 2) for one in group]
        expected = sum(weight * one for weight, one in zip(weights, group, strict=True)) / sum(weights)
        assert torch.allclose(found[i], expected)
    assert torch.autograd.gradcheck(lambda q: smoothed(q, neighbours, allowed, 2.0), (queries,))


def test_smooth_waits_until_its_memory_is_full_and_holds_no_more() -> None:
    term = smooth(size=5)
    left, right = random(2)
    assert term(step(left, right, [0, 1])).item() == 0
    assert term(step(left, right, [2, 3])).item() == 0
    assert term(step(left, right, [4, 5])).item() > 0
    assert term.keys is not None
    assert term.sids is not None
    assert term.keys.shape == (5, 4)
    assert not term.keys.requires_grad
    assert term.sids.tolist() == [4, 5, 2, 3, 0]
    term.found(None)  # type: ignore[arg-type]
    assert term.keys is None


@pytest.mark.parametrize("exclude_same", [False, True])
def test_smooth_equals_the_steps_written_out(exclude_same: bool) -> None:
    """Released: the nearest of all is skipped. Otherwise: whatever is the same sentence is."""
    term = smooth(size=6, neighbours=2, exclude_same=exclude_same)
    earlier, now = random(3, seed=1), random(3, seed=2)
    term(step(*earlier, [7, 1, 2]))
    found = term(step(*now, [7, 8, 9]))
    queries = F.normalize(now[1], dim=-1)
    held = [(sid, z) for z, sid in zip(F.normalize(earlier[1], dim=-1), [7, 1, 2], strict=True)]
    held += [(sid, z) for z, sid in zip(queries, [7, 8, 9], strict=True)]
    rows = []
    for query, own in zip(queries, [7, 8, 9], strict=True):
        near = sorted(held, key=lambda one: -(query @ one[1]).item())
        kept = [z for sid, z in near if sid != own][:2] if exclude_same else [z for _, z in near][1:3]
        group = torch.stack([query, *kept])
        rows.append((group @ query / 2).softmax(dim=0) @ group)
    assert found.item() == pytest.approx(info_nce(now[0], torch.stack(rows), 0.5).item())


def test_smooth_lets_gradients_through_the_query_and_not_through_its_memory() -> None:
    term = smooth(size=4, neighbours=2)
    earlier, now = random(2, seed=1), random(2, seed=2)
    term(step(*earlier, [0, 1]))
    term(step(*now, [2, 3])).backward()
    assert earlier[1].grad is None
    assert all((side.grad.abs().sum(dim=1) > 0).all() for side in now)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: smooth(size=4, neighbours=4), "smooth: neighbours is 4 of size 4"),
        (lambda: smooth(attention=0), "smooth: attention is 0"),
        (lambda: MixedInfoNCE(temperature=0.05, mix=0.7, form="paper"), "mixed_infonce: mix is 0.7"),
        (lambda: MixedInfoNCE(temperature=0.05, mix=0.2, form="both"), "mixed_infonce: form is 'both'"),
        (lambda: JSConsistency(temperature=0), "js_consistency: temperature is 0"),
        (lambda: CrossCorrelation(off_diagonal=-1), "cross_correlation: off_diagonal is -1"),
    ],
)
def test_options_that_cannot_be_are_refused(make: Callable[[], Term], message: str) -> None:
    with pytest.raises(BadSpec, match=message):
        make()
