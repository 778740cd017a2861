"""Whitening, rank mixing and removal of components on finished vectors: equations in loops, numbers of papers, fits."""

from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.stats import spearmanr

from cseb.commands.train import train as train_encoder
from cseb.embedders.folders import saved_encoder
from cseb.encoder.interface import Shape
from cseb.errors import BadSpec
from cseb.methods.grammar import parse_method, parse_scale
from cseb.parts.postprocessing import RankMix, RemoveComponents, whitening
from cseb.training.build import build
from cseb.training.checkpoints import restore
from tests.conftest import SENTENCES
from tests.training.small_runs import Tiny, built_of, run

SHAPE = Shape(width=5, layers=1, heads=1, mask_token=True, pooled=False, dropout=0.1)


def vectors(rows: int = 40, width: int = 5) -> torch.Tensor:
    rng = torch.Generator().manual_seed(0)
    return (
        torch.randn(rows, width, generator=rng, dtype=torch.float64) @ torch.randn(width, width, generator=rng).double()
    )


def test_whitened_vectors_have_covariance_1_and_the_largest_directions_come_first() -> None:
    x = vectors()
    mean, turn = whitening(x, 3, 0.0)
    y = ((x - mean) @ turn).numpy()
    assert np.allclose(np.cov(y.T), np.eye(3))
    left, values, _ = np.linalg.svd(np.cov(x.numpy().T))
    expected = (x.numpy() - x.numpy().mean(axis=0)) @ (left / np.sqrt(values))[:, :3]
    assert np.allclose(np.abs(y), np.abs(expected))  # directions have no sign


def test_directions_that_the_vectors_do_not_span_are_refused() -> None:
    """Of repeated sentences: they were scaled up by ten millions, and scores fell by a third."""
    x = vectors(rows=4).repeat(5, 1).float()  # of rank 3
    assert whitening(x, 3, 0.0)[1].isfinite().all()
    for kept in (4, 5):
        with pytest.raises(BadSpec, match=f"dimensions is {kept}, and the vectors of the subset, .*, span 3; take"):
            whitening(x, kept, 0.0)
    assert whitening(x, 5, 0.1)[1].isfinite().all()


def test_shrinking_draws_variances_to_their_mean() -> None:
    x = vectors(rows=3)  # of rank 2
    mean, turn = whitening(x, 5, 0.5)
    spread = np.cov(x.numpy().T)
    shrunk = spread / 2 + np.eye(5) * np.trace(spread) / 10
    assert np.allclose(turn.T.numpy() @ shrunk @ turn.numpy(), np.eye(5))
    assert torch.allclose(mean, x.mean(dim=0))


def test_test_vectors_are_those_of_the_encoder_whitened_by_the_subset(tiny: Tiny) -> None:
    plain = built_of(tiny, "first_last").encoder
    built = built_of(tiny, "bert-whitening+whiten(dimensions=6)")
    run(built, SENTENCES[:40])
    mean, turn = whitening(torch.from_numpy(plain.embed(SENTENCES[:40])), 6, 0.0)
    expected = (plain.embed(SENTENCES[40:]) - mean.numpy()) @ turn.numpy()
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    embedded = built.encoder.embed(SENTENCES[40:])
    assert embedded.shape == (24, 6)
    assert embedded.dtype == np.float32
    assert np.allclose(embedded, expected, atol=1e-3)
    assert np.allclose(built.encoder.embed(SENTENCES[40:43]), embedded[:3], atol=1e-3)


@pytest.mark.parametrize("name", ["simcse", "ct"])
def test_every_checkpoint_of_a_trained_method_has_its_own_directions(tiny: Tiny, name: str) -> None:
    recipe = "recipe(steps=4,warmup=0,batch_size=16,learning_rate=1e-2,eval_every=2)"
    method = parse_method(f"{name}+whiten(dimensions=4)+{recipe}").at(1.0)
    built = build(method, tiny("bert"), 0)
    seen: list[np.ndarray] = []

    def select(encoder) -> float:
        seen.append(encoder.embed(SENTENCES[:5]))
        return -float(len(seen))

    result = run(built, select=select)
    assert result.best_step == 2
    assert not result.best["post.map"].equal(result.last["post.map"])
    restore(built.encoder, result.best)
    assert np.array_equal(built.encoder.embed(SENTENCES[:5]), seen[0])


def test_a_benchmark_may_scale_whitening_and_a_user_take_it_out() -> None:
    scaled = parse_method("bert-whitening").at(1.0, parse_scale("whiten(dimensions=9), recipe(steps=50)"), 7)
    assert "whiten(dimensions=9" in scaled.resolved()
    assert "steps=0" in scaled.resolved()
    bare = parse_method("bert-whitening-whiten").at(1.0)
    assert bare.resolved() == parse_method("first_last").at(1.0).resolved()


@pytest.mark.parametrize(("cosine", "most"), [(0.9, 100), (0.9, 7), (0.0, 100), (1.0, 100)])
def test_the_inner_product_is_cosine_and_rank_correlation_mixed(cosine: float, most: int) -> None:
    """Pair by pair in loops, with SciPy's Spearman over the profiles."""
    subset, sentences = vectors(rows=20), vectors(rows=26)[20:]
    subset[3] = subset[4]  # equal sentences have equal ranks
    mix = RankMix(cosine, most, shape=SHAPE).double()
    mix.fit(subset)
    ranked = subset if most > 20 else subset[[0, 3, 6, 9, 12, 15, 19]]  # evenly evenly_spaced
    result = mix(sentences)
    assert result.shape == (6, 5 + len(ranked))

    def cos(a: torch.Tensor, b: torch.Tensor) -> float:
        return float(a @ b / (a.norm() * b.norm()))

    for value, a in enumerate(sentences):
        for other, b in enumerate(sentences):
            profiles = [[round(cos(each, row), 12) for row in ranked] for each in (a, b)]
            expected = cosine * cos(a, b) + (1 - cosine) * spearmanr(*profiles).statistic
            assert float(result[value] @ result[other]) == pytest.approx(expected)
            assert cos(result[value], result[other]) == pytest.approx(expected)


def test_more_sentences_than_are_ranked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    mix = RankMix(0.9, 100, shape=SHAPE).double()
    mix.fit(vectors(rows=20))
    whole = mix(vectors(rows=30))
    monkeypatch.setattr("cseb.parts.postprocessing.AT_ONCE", 4)
    assert torch.allclose(mix(vectors(rows=30)), whole)


def test_ranks_of_a_trained_encoder_are_over_its_own_subset(tiny: Tiny) -> None:
    text = "rankencoder+teacher(steps=3)+rank_mix+recipe(steps=3,warmup=0,batch_size=16,eval_every=2)"
    method = parse_method(text).at(1.0)
    built = build(method, tiny("bert"), 0)
    run(built, SENTENCES[:30])
    embedded = built.encoder.embed(SENTENCES[30:34])
    assert embedded.shape == (4, 16 + 30)
    assert np.allclose(np.linalg.norm(embedded, axis=1), 1, atol=1e-5)
    again = build(method, tiny("bert"), 0).encoder
    restore(again, built.encoder.state_dict())  # how many were ranked is known from what was kept
    assert np.array_equal(again.embed(SENTENCES[30:34]), embedded)


def shape(width: int) -> Shape:
    return Shape(width=width, layers=1, heads=1, mask_token=True, pooled=False, dropout=0.1)


@pytest.mark.parametrize(("count", "centre"), [(1, False), (2, False), (2, True)])
def test_the_first_singular_vectors_are_taken_out(count: int, centre: bool) -> None:
    spread = torch.tensor([3.0, 1.5, 0.7, 0.2], dtype=torch.float64)
    vectors = torch.randn(9, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64) * spread + 2
    part = RemoveComponents(count, centre, shape=shape(4)).double()
    part.fit(vectors)
    rows = vectors.numpy() - vectors.numpy().mean(axis=0) * centre
    directions = np.linalg.svd(rows)[2][:count]
    assert np.allclose(part(vectors).numpy(), rows - rows @ directions.T @ directions)


def test_a_hundredth_is_one_direction_at_least() -> None:
    counts = [RemoveComponents("hundredth", True, shape=shape(width)).count for width in (16, 100, 384, 768)]
    assert counts == [1, 1, 3, 7]
    post = parse_method("mean+all_but_the_top").at(1.0).post
    assert (post.name, dict(post.options)) == ("remove_components", {"count": "hundredth", "centre": True})


def test_an_encoder_gives_such_vectors_and_is_saved_with_them(tiny: Tiny, tmp_path: Path) -> None:
    plain = built_of(tiny, "mean").encoder.embed(SENTENCES)
    trained = train_encoder("mean+remove_components", SENTENCES, encoder=str(tiny("bert")), linear="blas")
    left, _, right = np.linalg.svd(plain, full_matrices=False)
    assert left.shape[0] == len(SENTENCES)
    assert np.allclose(trained.encode(SENTENCES), plain - plain @ np.outer(right[0], right[0]), atol=1e-5)
    again = saved_encoder(trained.save(tmp_path / "model"))
    assert np.allclose(again.embed(SENTENCES[:4]), trained.encode(SENTENCES[:4]), atol=1e-6)
