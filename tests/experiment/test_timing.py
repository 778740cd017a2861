"""The pieces of a job, timed with a clock that the test moves."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from cseb.data.tokens import Tokens
from cseb.encoder.encoder import Encoder
from cseb.encoder.interface import Text
from cseb.experiment import timing
from cseb.experiment.benchmark import load, override
from cseb.experiment.expected_time import Probe
from cseb.experiment.job import Job
from cseb.experiment.plan import plan
from tests.conftest import SENTENCES

SMALL = "+recipe(steps=600,warmup=0,batch_size=8,eval_every=300,learning_rate=1e-3)"


@pytest.fixture
def probe(tiny: Callable[[str], Path], tmp_path: Path) -> Callable[..., Probe]:
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("\n".join(SENTENCES), encoding="utf-8")

    def make(method: str, **options: object) -> Probe:
        settled = {"encoder": str(tiny("bert")), "corpus": str(corpus), "fractions": "", "sizes": "16", "seeds": 1,
                   "tasks": "mw-captions", **options}  # fmt: skip
        [job] = plan(override(load("microworld"), methods=method, **settled))  # type: ignore[arg-type]
        return Probe(job, SENTENCES[:16], SENTENCES[16:], 10)

    return make


def test_a_few_steps_are_timed_and_not_all_of_them(probe: Callable[..., Probe]) -> None:
    found = timing.timed(probe(f"simcse{SMALL}"))
    assert 1 <= len(found.steps) <= timing.STEPS
    assert all(step > 0 for step in found.steps)
    assert min(found.sentence, found.token, found.tasks) > 0
    assert (found.stages, found.fit, found.encoders, found.fitted) == (0.0, 0.0, 1, 0)


def test_steps_that_take_long_are_two(probe: Callable[..., Probe], monkeypatch: pytest.MonkeyPatch) -> None:
    """The first one is not counted."""
    monkeypatch.setattr(timing, "LONG", 0.0)
    assert len(timing.timed(probe(f"simcse{SMALL}")).steps) == 1


def test_models_that_are_trained_first_count_as_often_as_there_are(probe: Callable[..., Probe]) -> None:
    one = probe(f"simcse+entropy_models(phis=(0.1,),steps=100)+regulators{SMALL}")
    two = probe(f"simcse+entropy_models(phis=(0.1,0.2),steps=10000)+regulators{SMALL}")
    few, many = timing.timed(one), timing.timed(two)
    assert few.stages > 50 * min(few.steps) > 0
    assert many.stages > 20 * few.stages


def test_what_is_fitted_by_steps_is_cut_short_and_scaled_up(probe: Callable[..., Probe]) -> None:
    asked = probe("cls+flow(levels=1,depth=1,width=8,steps=100000,batch_size=8,every=1,held_out=0.0)")
    before = time.process_time()
    found = timing.timed(asked)
    assert found.fitted == 1
    assert found.steps == ()
    assert found.fit > 10 * (time.process_time() - before) > 0


def test_a_fit_is_timed_on_the_texts_that_it_is_made_on(
    probe: Callable[..., Probe], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fitted: list[list[Text]] = []
    tokenised: list[list[Text]] = []
    tokenise = Encoder.tokenise

    def spy(encoder: Encoder, texts: Sequence[Text], *more: Any) -> Tokens:
        tokenised.append(list(texts))
        return tokenise(encoder, texts, *more)

    monkeypatch.setattr(Encoder, "fit", lambda encoder, texts: fitted.append(list(texts)))
    lines = [f"{one}\t{one} again\tnot {one}" for one in SENTENCES[:16]]
    (tmp_path / "triples.txt").write_text("\n".join(lines))
    few = SMALL.replace("steps=600", "steps=2").replace("300", "1")
    for method, count in ((f"simcse-sup+remove_components{few}", 3), ("mean+remove_components", 1)):
        asked = probe(method, corpus=str(tmp_path / "triples.txt"))
        with monkeypatch.context() as patched:
            patched.setattr(Encoder, "tokenise", spy)
            found = timing.timed(replace(asked, sentences=lines))
        assert found.fitted == count
        assert len(fitted[-1]) == count * len(lines)
        assert fitted[-1] in tokenised
        assert any("\t" in str(text) for text in fitted[-1]) == (count == 1)  # a single sentence is the whole line


def test_nothing_random_outside_is_touched(probe: Callable[..., Probe]) -> None:
    asked = probe(f"simcse{SMALL}")
    torch.manual_seed(3)
    state = torch.get_rng_state()
    timing.timed(asked)
    assert torch.equal(torch.get_rng_state(), state)


def test_a_busy_machine_does_not_make_one_thread_slower(probe: Callable[..., Probe]) -> None:
    assert timing._clock("cpu", 1) is time.process_time
    assert timing._clock("cpu", 2) is time.perf_counter


def test_a_job_without_tasks_has_nothing_to_score(probe: Callable[..., Probe]) -> None:
    asked = probe("cls")
    protocol = replace(asked.job.protocol, tasks=())
    bare: Job = replace(asked.job, tasks="", protocol=protocol)
    found = timing.timed(replace(asked, job=bare, texts=()))
    assert (found.tasks, found.sentence) == (0.0, 0.0)
