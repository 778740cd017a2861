"""The loop: best and last checkpoint, what is refused, and a loss that is no number."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from cseb.training.build import build
from cseb.training.checkpoints import restore
from cseb.training.loop import Diverged, train
from tests.conftest import SENTENCES
from tests.training.small_runs import Recording, Tiny, built_of, method, run, trained


def test_best_is_the_checkpoint_the_dev_set_chose(tiny: Tiny) -> None:
    scores = iter([10.0, 30.0, 20.0, 30.0])
    seen: list[torch.Tensor] = []

    def select(encoder) -> float:
        seen.append(next(iter(encoder.backbone.parameters())).detach().clone())
        return next(scores)

    result = trained(tiny, "simcse", select=select)
    assert [dev for _, _, dev in result.curve] == [10.0, 30.0, 20.0, 30.0]
    assert result.best_step == 6  # the first of equals
    name = next(iter(result.best))
    assert torch.equal(result.best[name], seen[1])
    assert torch.equal(result.last[name], seen[3])


def test_both_encoders_of_ct_train_and_the_dev_set_chooses_among_them(tiny: Tiny) -> None:
    built = build(method("ct"), tiny("bert"), 0)
    start = {name: weight.clone() for name, weight in built.encoder.state_dict().items()}
    points = {id(built.encoder): iter([1.0, 9.0, 2.0, 3.0]), id(built.second): iter([5.0, 4.0, 6.0, 7.0])}
    result = train(built, SENTENCES, 0, "cpu", lambda encoder: next(points[id(encoder)]), lambda look: None)
    assert [dev for _, _, dev in result.curve] == [5.0, 9.0, 6.0, 7.0]
    assert result.best_step == 6
    name = "backbone.encoder.layer.1.output.dense.weight"
    states = [value.state_dict()[name] for value in (built.encoder, built.second)]
    assert not states[0].equal(states[1])
    assert not any(state.equal(start[name]) for state in states)
    assert result.last[name].equal(states[1])
    assert not result.best[name].equal(states[0])  # an earlier checkpoint
    fresh = build(method("ct"), tiny("bert"), 0).encoder
    restore(fresh, result.last)
    assert np.array_equal(fresh.embed(SENTENCES[:3]), built.second.embed(SENTENCES[:3]))


def test_ct_reads_equal_sentences_alike_before_the_first_step(tiny: Tiny) -> None:
    quiet = "recipe(steps=1,warmup=0,batch_size=1,learning_rate=1e-9,eval_every=1)"
    assert trained(tiny, "ct", quiet).curve[0][1] < np.log(2)  # a positive pair alone: its score is a squared length


def test_without_a_dev_set_best_is_last(tiny: Tiny) -> None:
    result = trained(tiny, "simcse")
    assert result.best is result.last
    assert result.best_step == 12


def test_the_curve_has_the_mean_loss_since_the_last_evaluation(tiny: Tiny) -> None:
    built = build(method("simcse"), tiny("bert"), 0)  # 12 steps, evaluated every 3
    term = Recording(lambda step: step.views[0].z.sum() * 0 + len(term.steps))
    counting = replace(built, terms=(replace(built.terms[0], term=term),))
    assert run(counting).curve == ((3, 2.0, None), (6, 5.0, None), (9, 8.0, None), (12, 11.0, None))


def test_a_loss_of_zero_in_every_step_is_noted(tiny: Tiny) -> None:
    """A sentence alone in its batch is contrasted with nothing."""
    alone = trained(tiny, "simcse", "recipe(steps=2,warmup=0,batch_size=1,eval_every=1)")
    assert [loss for _, loss, _ in alone.curve] == [0.0, 0.0]
    assert alone.notes == ("the loss was 0 in every step, so the encoder learned nothing; try larger batches",)
    assert not trained(tiny, "simcse").notes


def test_the_loss_is_the_weighted_sum_of_the_terms(tiny: Tiny) -> None:
    built = build(method("simcse"), tiny("bert"), 0)
    term = Recording(lambda step: step.views[0].z.sum() * 0 + 10)
    terms = tuple(replace(built.terms[0], term=term, weight=weight) for weight in (0.5, 2.0))
    assert {loss for _, loss, _ in run(replace(built, terms=terms)).curve} == {25.0}


def test_no_steps_train_nothing(tiny: Tiny) -> None:
    built = built_of(tiny, "mean")
    before = built.encoder.embed(SENTENCES)
    run(built)
    assert np.array_equal(before, built.encoder.embed(SENTENCES))


def test_a_loss_that_is_no_number_names_its_step(tiny: Tiny) -> None:
    built = build(method("simcse"), tiny("bert"), 0)
    term = Recording(lambda step: step.views[0].z.sum() * (float("nan") if len(term.steps) == 7 else 1e-3))
    broken = replace(built, terms=(replace(built.terms[0], term=term),))
    with pytest.raises(Diverged, match="the loss is nan") as caught:
        run(broken)
    assert caught.value.step == 7


def test_the_gradient_of_all_weights_together_is_scaled_to_the_norm_of_clip(
    tiny: Tiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gradient(clip: float) -> torch.Tensor:
        seen: list[torch.Tensor] = []

        def step(optimizer: torch.optim.Optimizer, closure: None = None) -> None:
            weights = [weight for group in optimizer.param_groups for weight in group["params"]]
            seen.append(torch.cat([weight.grad.flatten() for weight in weights if weight.grad is not None]))

        monkeypatch.setattr(torch.optim.AdamW, "step", step)
        trained(tiny, "simcse", f"recipe(steps=1,warmup=0,batch_size=8,optimizer=adamw,clip={clip})")
        return seen[0]

    free = gradient(0.0)
    torch.testing.assert_close(gradient(0.25 * float(free.norm())), 0.25 * free)


def test_every_update_has_the_rate_of_its_step(tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    rates: list[float] = []
    monkeypatch.setattr(
        torch.optim.AdamW, "step", lambda optimizer, closure=None: rates.append(optimizer.param_groups[0]["lr"])
    )
    trained(tiny, "simcse", "recipe(steps=6,warmup=2,batch_size=8,optimizer=adamw,learning_rate=0.04)")
    assert rates == pytest.approx([0, 0.02, 0.04, 0.03, 0.02, 0.01])
