"""How long a job is likely to take, from the pieces that were timed."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import Any

import pytest

from cseb.experiment.expected_time import Span, Timed, expected, makespan
from cseb.experiment.job import Job
from cseb.methods.grammar import parse_method
from tests.standin_jobs import PROTOCOL, job

NOTHING = Timed(steps=(), stages=0.0, token=0.0, sentence=0.0, fit=0.0, tasks=0.0, encoders=1, fitted=0)


def trained(text: str = "steps=10,batch_size=8,warmup=0,eval_every=5", size: int = 16, dev: str = "mw-dev@1") -> Job:
    method = parse_method(f"simcse+recipe({text})").at(0.1)
    return replace(job("simcse"), method=method, size=size, protocol=replace(PROTOCOL, dev=dev))


def test_steps_count_as_often_as_they_are_made() -> None:
    timed = replace(NOTHING, steps=(1.0, 2.0, 6.0), stages=100.0)
    assert expected(trained(), timed, 0, 0) == Span(120.0, 110.0, 160.0)


def test_a_last_batch_of_what_is_left_takes_less() -> None:
    """Twelve sentences are a batch of eight and one of four."""
    timed = replace(NOTHING, steps=(1.0,))
    assert expected(trained(size=12), timed, 0, 0).likely == pytest.approx(7.5)
    dropped = trained("steps=10,batch_size=8,warmup=0,eval_every=5,last_batch=drop", size=12)
    assert expected(dropped, timed, 0, 0).likely == pytest.approx(10.0)


def test_the_dev_set_is_encoded_at_every_look_and_the_test_tasks_once_or_twice() -> None:
    timed = replace(NOTHING, sentence=0.5, tasks=3.0, encoders=2)
    looks = 2 * 2 * 100 * 0.5  # looks, encoders, sentences
    assert expected(trained(), timed, 20, 100) == Span(looks + 1.5 * 13, looks + 13, looks + 26)
    undecided = expected(trained(dev=""), timed, 20, 0)
    assert undecided == Span(13, 13, 13)  # the last checkpoint is the best one


def test_what_is_fitted_afterwards_encodes_the_subset_at_every_look() -> None:
    timed = replace(NOTHING, sentence=0.5, fit=4.0, fitted=1)
    assert expected(trained(), timed, 0, 0).likely == 2 * (4.0 + 16 * 0.5)
    untrained = replace(trained(), method=parse_method("cls").at(0.1))
    assert expected(untrained, timed, 0, 0).likely == 4.0 + 16 * 0.5


def test_of_triples_all_texts_are_fitted_on_by_each_encoder() -> None:
    timed = replace(NOTHING, sentence=0.5, fit=4.0, fitted=3, encoders=2)
    assert expected(trained(), timed, 0, 0).likely == 2 * 2 * (4.0 + 16 * 3 * 0.5)


def test_sentences_are_tokenised_as_far_as_batches_reach() -> None:
    timed = replace(NOTHING, token=1.0)
    assert expected(trained(size=50), timed, 0, 0).likely == 50
    assert expected(trained(size=500), timed, 0, 0).likely == 80


def test_several_processes_that_timed_the_same_are_averaged() -> None:
    found = Timed.mean([replace(NOTHING, steps=(1.0,), tasks=2.0), replace(NOTHING, steps=(3.0,), tasks=4.0)])
    assert found == replace(NOTHING, steps=(1.0, 3.0), tasks=3.0)


@pytest.mark.parametrize(
    "damage", [{"steps": "1"}, {"steps": [None]}, {"fit": -1.0}, {"fit": float("nan")}, {"tasks": "2"}, {"more": 1.0}]
)
def test_what_was_kept_comes_back_and_damage_does_not(damage: dict[str, Any]) -> None:
    kept = json.loads(json.dumps(asdict(replace(NOTHING, steps=(0.1, 0.2)))))
    assert Timed.read(kept) == replace(NOTHING, steps=(0.1, 0.2))
    assert Timed.read(kept | damage) is None
    assert Timed.read([kept]) is None


def test_jobs_go_to_whoever_is_free() -> None:
    assert makespan([5, 4, 3, 3, 3], 2) == 10
    assert makespan([5, 4, 3, 3, 3], 1) == 18
    assert makespan([1, 1], 8) == 1
    assert makespan([], 3) == 0


def test_like_jobs_span_from_the_fastest_to_the_slowest() -> None:
    assert Span.of([2.0, 4.0]) == Span(3.0, 2.0, 4.0)
    assert Span(3.0, 2.0, 4.0).times(2.0, 0.5, 3.0) == Span(6.0, 2.0, 24.0)
