"""The chosen rates follow from the scores of every trial, and the benchmark has them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import rates
from cseb.experiment import benchmark as benchmarks
from cseb.experiment.plan import scaled
from cseb.methods.grammar import labels, parse_method, parse_methods


def test_the_best_mean_over_seeds_is_chosen_the_lower_rate_of_two_and_none_of_a_part() -> None:
    scores = {"one": (40, 52, 55, 54), "two": (50, 54, 54, 50), "started": (40, 52, 55, 54)}
    trials = [
        rates.Trial(method, rate, seed, dev + (5 if seed else -5), "key")
        for method, found in scores.items()
        for rate, dev in zip(rates.RATES, found, strict=True)
        for seed in range(rates.SEEDS - (method == "started" and rate == 3e-3))
    ]
    assert rates.chosen(trials) == {"one": 1e-3, "two": 3e-4}


@pytest.mark.parametrize("benchmark", rates.BENCHMARKS)
def test_trials_are_as_the_benchmark_in_fewer_steps_and_see_its_dev_alone(benchmark: str) -> None:
    trials, whole = rates.trials_of(benchmark, "simcse"), benchmarks.load(benchmark)
    assert (trials.seeds, trials.sizes, trials.tasks, trials.dev) == (rates.SEEDS, (1000,), whole.dev, "")
    assert whole.dev not in whole.tasks.split(", ") and not trials.per_method
    assert (trials.encoder, trials.corpus, trials.column) == (whole.encoder, whole.corpus, whole.column)
    short = f"recipe(steps=120, warmup=12, eval_every=30, learning_rate={rates.RATES[0]})"
    alike = benchmarks.override(whole, per_method={"simcse": short})
    first, *_ = parse_methods(trials.methods)
    assert scaled(trials, first, 1) == scaled(alike, parse_method("simcse"), 1)


def test_a_rate_with_which_a_seed_collapsed_is_tried_and_not_chosen() -> None:
    trials = [rates.Trial("m", rate, seed, 40 + 10_000 * rate, "key") for rate in rates.RATES for seed in (0, 1)]
    assert rates.chosen(trials) == {"m": 3e-3}
    trials[-2:] = [replace(trials[-2], dev=1_000.0), replace(trials[-1], dev=None)]  # not averaged, with 0 or without
    assert rates.chosen(trials) == {"m": 1e-3}


def test_trials_join_the_table_once(tmp_path: Path) -> None:
    table = tmp_path / "rates.csv"
    table.write_text("method,learning_rate,seed,stsb_dev,key\nb,0.001,0,50.1,k1\n")
    found = [("a", 1e-4, 1, 40.25, "k2"), ("b", 1e-3, 0, 50.1, "k1"), ("b", 3e-3, 1, None, "k3")]
    rows = rates.merged(table, [rates.Trial(*one) for one in found])
    assert rows[:2] == [("a", "0.0001", "1", "40.25", "k2"), ("b", "0.001", "0", "50.1", "k1")]
    assert rows[2:] == [("b", "0.003", "1", "collapsed", "k3")]


def test_every_method_is_tried_with_each_rate() -> None:
    specs = rates.specs(["simcse", "micse+mean"])
    assert labels(",".join(specs)) == specs and len(specs) == 8
    assert [rates.TRIED.fullmatch(spec)["method"] for spec in specs] == ["simcse"] * 4 + ["micse+mean"] * 4


@pytest.mark.parametrize("benchmark", rates.BENCHMARKS)
def test_the_benchmark_has_the_rates_that_were_chosen(benchmark: str) -> None:
    trials = [
        rates.Trial(method, float(rate), int(seed), None if dev == rates.COLLAPSED else float(dev), key)
        for method, rate, seed, dev, key in rates.merged(rates.table_of(benchmark), [])
    ]
    stated = dict(benchmarks.load(benchmark).per_method)
    if benchmark == "real":  # the same training, mixed afterwards
        assert stated.pop("simcse+mix(share=0.5)") == stated["simcse"]
    assert {method: rates.edit(rate) for method, rate in rates.chosen(trials).items()} == stated
