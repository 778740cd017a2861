"""The flow on finished vectors: its density against a brute-force Jacobian, and what it learns from which vectors."""

import math
from collections.abc import Callable, Iterator

import numpy as np
import pytest
import torch

from cseb.encoder.interface import Shape
from cseb.parts.flow import ActNorm, Coupling, Flow, FlowStep, Glow
from cseb.training.loop import train
from tests.conftest import SENTENCES
from tests.training.small_runs import Tiny, built_of, run

SMALL = "flow(levels=2,steps=20,every=5)"


def drawn(rows: int, width: int, seed: int = 0) -> torch.Tensor:
    """Correlated and skewed vectors, in doubles."""
    rng = torch.Generator().manual_seed(seed)
    mix = torch.randn(width, width, generator=torch.Generator().manual_seed(99), dtype=torch.float64)
    x = torch.randn(rows, width, generator=rng, dtype=torch.float64)
    return (x + x.square() / 2) @ mix + 3


def shaken(glow: torch.nn.Module) -> torch.nn.Module:
    """Every weight moved, so that nothing is an identity any more."""
    rng = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for weight in glow.parameters():
            weight.add_(torch.randn(weight.shape, generator=rng, dtype=weight.dtype) * 0.3)
    return glow


def flow(width: int = 6, seed: int = 0, **options: float) -> Flow:
    defaults = {"levels": 2, "depth": 2, "width": 8, "steps": 200, "batch_size": 32, "learning_rate": 1e-2}
    shape = Shape(width=width, layers=1, heads=1, mask_token=True, pooled=False, dropout=0.1)
    return Flow(**{**defaults, "held_out": 0.1, "every": 10, **options}, shape=shape, run_seed=seed)


@pytest.mark.parametrize("width", [4, 5])
def test_a_coupling_changes_no_volume_and_an_actnorm_by_its_scales(width: int) -> None:
    x = drawn(1, width)[0]

    def volume(module: Callable[[torch.Tensor], torch.Tensor]) -> float:
        jacobian = torch.autograd.functional.jacobian(lambda vector: module(vector[None])[0], x)
        return float(torch.linalg.slogdet(jacobian).logabsdet)

    coupling = Coupling(width, 3).double()
    coupling.start(torch.Generator().manual_seed(1))
    assert torch.equal(coupling(x[None])[0], x)
    shaken(coupling)
    assert volume(coupling) == pytest.approx(0, abs=1e-12)
    assert not torch.equal(coupling(x[None])[0], x)
    actnorm = shaken(ActNorm(width).double())
    log_volume = actnorm(x[None])[1].item()
    assert log_volume == pytest.approx(sum(scale.exp().log().item() for scale in actnorm.log_scale))
    assert volume(lambda vector: actnorm(vector)[0]) == pytest.approx(log_volume)
    ordered = FlowStep(width, 3).double()
    ordered.start(drawn(9, width), torch.Generator().manual_seed(1))
    assert volume(lambda vector: ordered(vector)[0]) == pytest.approx(ordered(x[None])[1].item())
    orders = []
    for seed in range(9):
        ordered.start(drawn(9, width), torch.Generator().manual_seed(seed))
        orders.append(tuple(ordered.order.tolist()))
    assert len(set(orders)) > 1 and {tuple(sorted(order)) for order in orders} == {tuple(range(width))}


def test_actnorm_starts_with_mean_0_and_variance_1() -> None:
    x = drawn(50, 3)
    x[:, 1] = 2.0  # a coordinate that never changes
    actnorm = ActNorm(3).double()
    actnorm.start(x)
    y = actnorm(x)[0]
    assert torch.allclose(y.mean(dim=0), torch.zeros(3, dtype=torch.float64), atol=1e-9)
    assert torch.allclose(y.std(dim=0, unbiased=False)[[0, 2]], torch.ones(2, dtype=torch.float64), atol=1e-4)
    assert torch.isfinite(y).all()


@pytest.mark.parametrize(("width", "levels"), [(6, 2), (5, 2), (8, 3), (3, 1)])
def test_log_density_against_a_brute_force_jacobian(width: int, levels: int) -> None:
    """log p(x) = log p(z) + log |det dz/dx|, all of z standard normal."""
    glow = Glow(width, levels, 2, 4).double()
    glow(drawn(20, width), torch.Generator().manual_seed(3))
    shaken(glow)
    x = drawn(1, width, seed=4)[0]
    jacobian = torch.autograd.functional.jacobian(lambda vector: glow(vector[None])[0][0], x)
    z, result = glow(x[None])
    expected = float(torch.linalg.slogdet(jacobian).logabsdet)
    expected += sum(-(value.item() ** 2) / 2 - math.log(math.sqrt(2 * math.pi)) for value in z[0])
    assert result.item() == pytest.approx(expected)


def test_training_raises_the_likelihood_of_vectors_it_has_not_seen() -> None:
    x, others = drawn(300, 6).float(), drawn(200, 6, seed=1).float()
    untrained, trained = flow(steps=0), flow()
    untrained.fit(x)
    trained.fit(x)
    assert trained.likelihood(others) > untrained.likelihood(others) + 0.5
    assert not any(weight.requires_grad for weight in trained.parameters())


def test_held_out_vectors_are_not_trained_on_and_all_others_once_per_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    x = torch.arange(40.0)[:, None].expand(40, 6)
    seen: list[torch.Tensor] = []

    def noted(self: Flow, batches: Iterator[torch.Tensor], held_out: torch.Tensor, rng: torch.Generator) -> None:
        seen.extend([held_out, *(next(batches) for _ in range(6))])

    monkeypatch.setattr(Flow, "_train", noted)
    flow(held_out=0.25, batch_size=12).fit(x)
    held_out, *batches = ([int(row[0]) for row in rows] for rows in seen)
    assert [len(held_out), *map(len, batches)] == [10, 12, 12, 6, 12, 12, 6]
    epochs = [[*a, *b, *c] for a, b, c in (batches[:3], batches[3:])]
    assert epochs[0] != epochs[1]
    assert all(sorted([*held_out, *epoch]) == list(range(40)) for epoch in epochs)


def test_the_first_step_of_adam_is_as_long_as_the_learning_rate() -> None:
    start, once = flow(steps=0, held_out=0), flow(steps=1, held_out=0, learning_rate=1e-3)
    for each in (start, once):
        each.fit(drawn(40, 6).float())
    gaps = [(a - b).abs().max().item() for a, b in zip(start.parameters(), once.parameters(), strict=True)]
    assert max(gaps) == pytest.approx(1e-3, rel=0.1)  # and decay


def test_held_out_vectors_choose_the_step() -> None:
    """Forty vectors are soon learned by heart; the step is then an early one, and the last one is worse."""
    x, others = drawn(40, 6).float(), drawn(400, 6, seed=1).float()
    chosen, last = flow(steps=250, learning_rate=3e-2), flow(steps=250, learning_rate=3e-2, held_out=0)
    chosen.fit(x)
    last.fit(x)
    assert chosen.likelihood(others) > last.likelihood(others)


def test_the_same_seed_gives_the_same_bits_and_leaves_other_random_numbers_alone() -> None:
    x = drawn(60, 6).float()
    fitted, again, other = flow(), flow(), flow(seed=1)
    torch.manual_seed(0)
    expected = torch.rand(1)
    torch.manual_seed(0)
    fitted.fit(x)
    assert torch.equal(torch.rand(1), expected)
    again.fit(drawn(60, 6, seed=7).float())  # an earlier look leaves no trace
    again.fit(x)
    other.fit(x)
    assert torch.equal(fitted(x), again(x))
    assert not torch.allclose(fitted(x), other(x))


def test_two_vectors_are_enough_to_fit() -> None:
    small = flow(held_out=0, steps=3)
    small.fit(drawn(2, 6).float())
    assert torch.isfinite(small(drawn(2, 6).float())).all()


def test_test_vectors_are_those_of_the_encoder_through_the_flow_of_the_subset(tiny: Tiny) -> None:
    plain = built_of(tiny, "first_last").encoder
    built = built_of(tiny, f"bert-flow+{SMALL}")
    run(built, SENTENCES[:40])
    post = built.encoder.post
    assert isinstance(post, Flow)
    vectors = torch.from_numpy(plain.embed(SENTENCES[40:]))
    embedded = built.encoder.embed(SENTENCES[40:])
    assert embedded.shape == vectors.shape
    assert embedded.dtype == np.float32
    assert np.allclose(embedded, post.glow(vectors)[0].numpy(), atol=1e-4)


def test_a_flow_leaves_the_training_of_the_encoder_alone(tiny: Tiny) -> None:
    """Not even the norm at which the encoder's gradient is cut may know of the flow's gradients."""
    recipe = "recipe(steps=4,warmup=0,batch_size=16,learning_rate=1e-2,eval_every=1,clip=0.01)"
    last = []
    for text in ("simcse", f"simcse+{SMALL}"):
        built = built_of(tiny, f"{text}+{recipe}")
        last.append(train(built, SENTENCES, 0, "cpu", lambda encoder: 0.0, lambda look: None).last)
    plain, flowed = last
    assert all(flowed[name].equal(value) for name, value in plain.items())
    assert set(flowed) > set(plain)
