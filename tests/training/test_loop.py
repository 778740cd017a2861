"""The loop: best and last checkpoint, what is refused, and a loss that is no number."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from cseb.errors import BadSpec
from cseb.methods.grammar import parse_method
from cseb.parts.views import Dropout
from cseb.training.build import build, check
from cseb.training.checkpoints import restore
from cseb.training.loop import Diverged, train
from tests.conftest import SENTENCES
from tests.training.small_runs import Tiny, method, trained


def test_other_jobs_before_it_change_no_bit(tiny: Tiny) -> None:
    alone = trained(tiny, "simcse")
    torch.manual_seed(99)
    trained(tiny, "msse", seed=5)
    assert trained(tiny, "simcse").curve == alone.curve


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
    states = [one.state_dict()[name] for one in (built.encoder, built.second)]
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


def test_a_term_that_compares_more_views_than_there_are_is_refused_before_training(
    tiny: Tiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Dropout, "views", 1)
    with pytest.raises(BadSpec, match="infonce compares 2 views of a sentence; dropout gives 1"):
        check(method("simcse+ami"), tiny("bert"))


def test_without_a_dev_set_best_is_last(tiny: Tiny) -> None:
    result = trained(tiny, "simcse")
    assert result.best is result.last
    assert result.best_step == 12


def test_restore_puts_a_checkpoint_back(tiny: Tiny) -> None:
    built = build(method("simcse"), tiny("bert"), 0)
    before = built.encoder.embed(SENTENCES[:3])
    result = train(built, SENTENCES, 0, "cpu", None, lambda look: None)
    after = built.encoder.embed(SENTENCES[:3])
    assert np.abs(before - after).max() > 1e-3
    fresh = build(method("simcse"), tiny("bert"), 0).encoder
    restore(fresh, result.last)
    assert np.array_equal(fresh.embed(SENTENCES[:3]), after)


def test_no_steps_train_nothing(tiny: Tiny) -> None:
    built = build(parse_method("mean").at(1.0), tiny("bert"), 0)
    before = built.encoder.embed(SENTENCES)
    train(built, SENTENCES, 0, "cpu", None, lambda look: None)
    assert np.array_equal(before, built.encoder.embed(SENTENCES))


def test_a_loss_that_is_no_number_names_its_step(tiny: Tiny) -> None:
    built = build(method("simcse"), tiny("bert"), 0)

    class Breaks(torch.nn.Module):
        needs: frozenset[str] = frozenset()
        calls = 0

        def forward(self, step):
            self.calls += 1
            z = step.views[0].z
            return z.sum() * (float("nan") if self.calls == 7 else 1e-3)

    broken = replace(built, terms=(replace(built.terms[0], term=Breaks()),))
    with pytest.raises(Diverged, match="the loss is nan") as caught:
        train(broken, SENTENCES, 0, "cpu", None, lambda look: None)
    assert caught.value.step == 7
