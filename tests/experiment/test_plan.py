"""From a benchmark to jobs: their identity, their order, and what is refused before anything trains."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cseb.errors import BadBenchmark, BadData, CsebError
from cseb.experiment.benchmark import load, override
from cseb.experiment.job import Job
from cseb.experiment.plan import plan
from cseb.methods.grammar import parse_method
from cseb.records.store import Store
from tests.experiment.conftest import Make
from tests.world import WORLD


def test_all_of_seed_0_comes_first_and_small_shares_before_large_ones(make: Make) -> None:
    jobs = plan(make())
    assert [(job.seed, job.fraction, job.size, job.label) for job in jobs] == [
        (seed, fraction, size, label)
        for seed in (0, 1)
        for fraction, size in ((0.1, 100), (0.5, 500))
        for label in ("simcse", "cls")
    ]
    assert len({job.key for job in jobs}) == 8


def test_keys_are_those_of_the_expected_records() -> None:
    committed = Store(Path(__file__).parents[2] / "benchmarks/expected/demo")
    contents = {(record.method, record.subset.size, record.seed): record.key for record in committed.load()[0]}
    assert {(job.label, job.size, job.seed): job.key for job in plan(load("demo"))} == contents


def test_the_scale_shortens_training_and_leaves_the_untrained_alone(make: Make) -> None:
    simcse, cls = plan(make())[:2]
    assert (simcse.recipe.steps, simcse.recipe.batch_size) == (60, 32)
    assert cls.recipe.steps == 0
    assert cls.method == parse_method("cls").at(0.1)


def test_steps_shorten_the_warm_up_in_proportion(make: Make) -> None:
    micse, typed = plan(make(methods="micse,micse+recipe(warmup=3)", scale="recipe(batch_size=32)", steps=80, seeds=1))[
        :2
    ]
    assert (micse.recipe.steps, micse.recipe.warmup) == (80, 1)  # 250 of 20,000 steps
    assert (typed.recipe.steps, typed.recipe.warmup) == (80, 3)


def test_steps_are_those_of_every_stage_too(make: Make) -> None:
    """Of a teacher, of RCL's entropy models and of a flow; an untrained method without one has none at all."""
    texts = "rankencoder", "rankencoder+teacher(steps=9)", "rcl-unsup", "bert-flow", "simcse+flow", "cls"

    def settled(**changes: Any) -> list[Job]:
        grid = make(methods=",".join(texts), scale="teacher(steps=70), recipe(batch_size=32)", seeds=1, **changes)
        return plan(grid)[: len(texts)]

    def lengths(job: Job) -> list[Any]:
        parts = (job.method.stages, job.method.recipe, job.method.post)
        return [dict(part.options).get("steps") if part else None for part in parts]

    assert [lengths(job) for job in settled(steps=8)] == [
        [8, 8, None], [9, 8, None], [8, 8, None], [None, 0, 8], [None, 8, 8], [None, 0, None],
    ]  # fmt: skip
    assert lengths(settled()[0])[0] == 70
    assert [lengths(job) for job in settled(steps=0)[::3]] == [[70, 0, None], [None, 0, 0]]  # no stage is trained then


def test_options_of_a_single_method_win_over_the_scale_and_touch_no_other(make: Make) -> None:
    grid = {"methods": "simcse,micse,cls,micse+recipe(learning_rate=3e-3)", "seeds": 1, "sizes": [64]}
    rate = {"per_method": {"micse": "recipe(learning_rate=1e-4)", "cls": "recipe(learning_rate=1e-4)"}}
    before, after = (plan(make(**grid, fractions=(), **more)) for more in ({}, rate))
    assert [job.label for job in after] == [job.label for job in before]
    assert [a.key == b.key for a, b in zip(before, after, strict=True)] == [True, False, True, True]
    assert [job.recipe.learning_rate for job in after if job.label != "cls"] == [3e-5, 1e-4, 3e-3]
    assert after[1].recipe.batch_size == before[1].recipe.batch_size == 32  # of the scale


def test_what_the_user_typed_wins_over_the_scale(make: Make) -> None:
    (job,) = plan(make(methods="simcse+recipe(steps=5)", fractions=[1], seeds=1))
    assert (job.label, job.recipe.steps, job.recipe.batch_size) == ("simcse+recipe(steps=5)", 5, 32)


def test_the_protocol_names_tasks_with_versions_and_counts_labels(make: Make) -> None:
    protocol = plan(make(), threads=3, device="cuda")[0].protocol
    assert protocol.tasks == ("toy-captions@1", "toy-mixed@1")
    assert protocol.dev == "toy-dev@1"
    assert protocol.dev_pairs > 100
    assert (protocol.threads, protocol.device) == (3, "cuda")
    assert plan(make(dev=""))[0].protocol.dev_pairs == 0


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"fractions": [0.01]}, ["simcse at fraction 0.01", "10 sentences", "batch of 32", "0.032", "batch_size=10"]),
        ({"scale": "recipe(batch_size=5000)"}, ["these 1,000", "one batch of 5000", "larger corpus"]),
        ({"fractions": [0.0001]}, ["0.0001", "less than one"]),
        ({"fractions": (), "sizes": [1001]}, ["1001", "1000"]),
        ({"fractions": [0.1, 0.1001]}, ["0.1 and 0.1001", "both 100 sentences"]),
        ({"methods": "simcse-infonce"}, ["simcse-infonce", "steps", "no term"]),
        ({"methods": "simcs"}, ["no method", "'simcs'", "did you mean simcse"]),
        ({"methods": "simcse+ami(samples=1)"}, ["ami: samples is 1"]),
        ({"dev": "toy-mixed"}, ["dev 'toy-mixed'", "also a test task"]),
        ({"dev": "sts"}, ["one task"]),
        ({"tasks": "toy-caption"}, ["did you mean toy-captions"]),
        ({"corpus": "nowhere.txt"}, ["nowhere.txt"]),
        ({"tasks": "stsb", "data_dir": "/nowhere"}, ["/nowhere"]),
    ],
)
def test_what_cannot_run_is_said_before_anything_trains(make: Make, changes: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(CsebError) as caught:
        plan(make(**changes))
    for word in words:
        assert word in str(caught.value)


def test_an_untrained_method_needs_no_batch(make: Make) -> None:
    assert [job.size for job in plan(make(methods="cls", fractions=[0.001], seeds=1))] == [1]


def test_two_methods_are_not_run_under_one_key(make: Make) -> None:
    with pytest.raises(BadBenchmark, match="keep one"):
        plan(make(methods="cls", fractions=[0.1, 0.10001]))


def test_triples_that_are_not_there_are_missed_before_anything_trains(tmp_path: Path) -> None:
    mixed = tmp_path / "mixed.txt"
    mixed.write_text("a\tb\tc\n" * 70 + "a sentence\n")
    grid = override(load(WORLD), methods="simcse-sup", corpus=str(mixed), sizes="70", seeds=1)
    with pytest.raises(BadData, match=r"simcse-sup reads 3 texts joined by TABs .* 1 of 71 lines .* 'a sentence'"):
        plan(grid)
    mixed.write_text("a\tb\tc\n" * 70)
    assert len(plan(override(grid, methods="simcse-sup,simcse+pairs,mean"))) == 3


def test_views_that_were_put_in_or_replaced_decide_what_a_line_must_hold(tmp_path: Path) -> None:
    plain = tmp_path / "plain.txt"
    plain.write_text("".join(f"a sentence {number}\n" for number in range(70)))
    grid = override(load(WORLD), corpus=str(plain), sizes="70", seeds=1)
    for views, texts in (("triples", "3"), ("pairs", "2 or 3")):
        with pytest.raises(BadData, match=rf"mirror\+{views} reads {texts} texts .* 70 of 70 lines"):
            plan(override(grid, methods=f"mirror+{views}"))
    assert len(plan(override(grid, methods="simcse-positives+dropout"))) == 1


def test_geometry_does_not_choose_a_checkpoint(make: Make) -> None:
    with pytest.raises(BadBenchmark, match="whose figure is 0 to 4, lower is better; a task in points"):
        plan(make(dev="toy-alignment"))


def test_a_dry_run_of_built_in_methods_works_without_torch(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "sys.modules |= dict.fromkeys(('torch', 'transformers', 'accelerate'))  # importing them fails\n"
        f"sys.argv = ['cseb', 'run', 'demo', '--dry-run', '--results', {str(tmp_path)!r}]\n"
        "from cseb.commands.application import main\n"
        "main()\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False)
    assert ran.returncode == 0, ran.stderr
    assert "is checked when the run starts" in ran.stdout
