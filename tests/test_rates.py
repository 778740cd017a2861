"""The chosen rates follow from the scores of every trial, and the benchmark has them."""

from __future__ import annotations

from pathlib import Path

from benchmarks import rates
from cseb.experiment import benchmark as benchmarks
from cseb.methods.grammar import labels


def test_the_best_mean_over_seeds_is_chosen_and_the_lower_rate_of_two() -> None:
    trials = [
        rates.Trial(*trial, "key")
        for trial in (
            *(("one", 1e-3, 0, 60.0), ("one", 1e-3, 1, 50.0), ("one", 3e-3, 0, 54.0), ("one", 3e-3, 1, 54.0)),
            *(("two", 3e-3, 0, 54.0), ("two", 1e-4, 0, 54.0)),
        )
    ]
    assert rates.chosen(trials) == {"one": 1e-3, "two": 1e-4}


def test_trials_join_the_table_once(tmp_path: Path) -> None:
    table = tmp_path / "rates.csv"
    table.write_text("method,learning_rate,seed,stsb_dev,key\nb,0.001,0,50.1,k1\n")
    rows = rates.merged(table, [rates.Trial("a", 1e-4, 1, 40.25, "k2"), rates.Trial("b", 1e-3, 0, 50.1, "k1")])
    assert rows == [("a", "0.0001", "1", "40.25", "k2"), ("b", "0.001", "0", "50.1", "k1")]


def test_every_method_is_tried_with_each_rate() -> None:
    specs = rates.specs(["simcse", "micse+mean"])
    assert labels(",".join(specs)) == specs and len(specs) == 8
    assert [rates.TRIED.fullmatch(spec)["method"] for spec in specs] == ["simcse"] * 4 + ["micse+mean"] * 4


def test_the_benchmark_has_the_rates_that_were_chosen() -> None:
    trials = [
        rates.Trial(method, float(rate), int(seed), float(dev), key)
        for method, rate, seed, dev, key in rates.merged(rates.TABLE, [])
    ]
    stated = benchmarks.load("real").per_method
    assert {method: rates.edit(rate) for method, rate in rates.chosen(trials).items()} == dict(stated)
