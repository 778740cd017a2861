"""What reports show of a search: its budget, the chosen values, and the dev score of every value."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations
from math import inf
from pathlib import Path
from statistics import fmean

import pytest

from cseb.analysis.tuning import expected_best, footer, sensitivities
from cseb.commands.results import Results
from cseb.experiment.job import Job
from cseb.methods.spec import part
from cseb.records.method_text import Stated
from cseb.records.record import Record
from cseb.reports.tuning_tables import dev_score_grids
from tests.experiment.conftest import Make
from tests.experiment.test_tuning import peak, run


def test_the_footer_and_a_table_say_what_was_chosen_at_what_budget(make: Make) -> None:
    records: dict[str, Record] = {}
    run(make(methods="simcse,micse", fractions=[0.5], tune={}), peak(3e-3), records)
    trials = {key: record for key, record in records.items() if record.purpose == "tuning"}
    shown = sensitivities((record for record in records.values() if record.purpose == "reported"), trials)
    assert footer(shown, detail=False) == [
        "Tuned on toy-dev, 5 values x 2 seeds for each method; 1 value added because a best value was at an edge.",
        "Chosen: recipe(learning_rate=0.003) for simcse, micse.",
    ]
    assert footer(shown, detail=True) == footer(shown, detail=False)[:1]
    grid, budget = dev_score_grids(shown)
    assert grid.title == "Dev score by recipe.learning_rate, 500 sentences"
    assert [column.title for column in grid.columns] == ["method", "0.0001", "0.0003", "0.001", "0.003", "0.01"]
    assert [[entry.whole() for entry in row] for row in grid.rows] == [
        [method, "58.53", "59.00", "59.53", "60.00*", "59.48"] for method in ("simcse", "micse")
    ]
    assert grid.notes == ("Mean over 2 seeds on toy-dev@1. Bold or *: chosen; --: not tried.",)
    assert budget.title == "Expected best dev score by number of values tried, 500 sentences"
    assert [column.title for column in budget.columns] == ["method", *"12345"]
    assert [entry.text for entry in budget.rows[0]] == ["simcse", "59.31", "59.66", "59.81", "59.91", "60.00"]


def test_trials_after_the_runs_are_counted_in(make: Make) -> None:
    """A later search tries further values. They confirm the choice, so no run is repeated, and no run names them."""
    records: dict[str, Record] = {}
    for further, note in ((0, "The best value is still at an edge for micse, simcse."), (1, "")):
        run(make(methods="simcse,micse", fractions=[0.5], tune={"further": further}), peak(3e-3), records)
        trials = {key: record for key, record in records.items() if record.purpose == "tuning"}
        shown = sensitivities((record for record in records.values() if record.purpose == "reported"), trials)
        assert [list(each.scores) for each in shown] == [
            ["0.0001", "0.0003", "0.001", "0.003", "0.01"][: 4 + further]
        ] * 2
        assert {len(each.tuning.trials) for each in shown} == {8}
        assert footer(shown, detail=True)[1:] == ([note] if note else [])


def test_trials_of_another_temperature_are_not_counted_in_for_a_search_of_rates(make: Make) -> None:
    records: dict[str, Record] = {}
    run(make(methods="simcse", fractions=[0.5], tune={}), peak(1e-3), records)
    first = [record for record in records.values() if record.purpose == "reported"]
    space = {"recipe.learning_rate": [1e-4, 3e-4], "infonce.temperature": [0.05, 0.1]}
    run(make(methods="simcse", fractions=[0.5], tune={"options": space, "further": 0}), peak(3e-4), records)
    trials = {key: record for key, record in records.items() if record.purpose == "tuning"}
    assert len(trials) == 2 * (4 + 2)
    (rates,) = sensitivities(first, trials)
    assert list(rates.scores) == ["0.0001", "0.0003", "0.001", "0.003"]


def test_a_single_value_is_not_at_an_edge(make: Make) -> None:
    records: dict[str, Record] = {}
    run(make(methods="simcse", fractions=[0.5], tune={"options": {"recipe.learning_rate": [3e-4]}}), peak(1), records)
    trials = {key: record for key, record in records.items() if record.purpose == "tuning"}
    [found] = sensitivities((record for record in records.values() if record.purpose == "reported"), trials)
    assert found.tuning.at_edge == ()


def test_the_expected_best_is_the_mean_over_all_sets_of_values() -> None:
    scores = [3.0, -1.0, 4.0, 4.0, 10.0]
    for tried in range(1, 6):
        drawn = [max(those) for those in combinations(scores, tried)]
        assert expected_best(scores, tried) == pytest.approx(fmean(drawn))
    assert (expected_best([-inf, 1.0, -inf], 2), expected_best([-inf, 1.0, -inf], 3)) == (-inf, 1.0)


def test_the_footer_names_the_size_where_sizes_of_a_method_have_other_values(make: Make) -> None:
    records: dict[str, Record] = {}

    def world(job: Job) -> float:
        return peak(3e-4 if job.method.name == "simcse" and job.fraction == 0.5 else 1e-3)(job)

    run(make(methods="simcse,micse", fractions=[0.5, 1.0], tune={}), world, records)
    trials = {key: record for key, record in records.items() if record.purpose == "tuning"}
    shown = sensitivities((record for record in records.values() if record.purpose == "reported"), trials)
    assert footer(shown, detail=False)[-1] == (
        "Chosen: recipe(learning_rate=0.0003) for simcse (500 sentences); "
        "recipe(learning_rate=0.001) for micse, simcse (1,000 sentences)."
    )
    titles = [grid.title for grid in dev_score_grids(shown[::-1])]
    assert [title.partition(", ")[2] for title in titles[::2]] == ["500 sentences", "1,000 sentences"]


def test_several_tuned_options_are_one_column_each_pair_of_values(make: Make) -> None:
    records: dict[str, Record] = {}
    tune = {"options": {"recipe.learning_rate": [1e-4, 3e-4], "recipe.warmup": [5, 7]}, "further": 0}
    run(make(methods="simcse", fractions=[0.5], tune=tune), peak(3e-4), records)
    trials = {key: record for key, record in records.items() if record.purpose == "tuning"}
    [collapsed] = [key for key, trial in trials.items() if "0.0001" in trial.resolved and trial.seed == 10_000][:1]
    trials[collapsed] = trials[collapsed].model_copy(update={"trace": None, "scores": ()})
    grid, budget = dev_score_grids(sensitivities((r for r in records.values() if r.purpose == "reported"), trials))
    assert grid.title.startswith("Dev score by recipe.learning_rate, recipe.warmup")
    assert [column.title for column in grid.columns[1:]] == ["0.0001, 5", "0.0001, 7", "0.0003, 5", "0.0003, 7"]
    assert "collapsed" in [entry.text for entry in grid.rows[0]]
    assert [entry.text == "--" for entry in budget.rows[0][1:]] == [True, False, False, False]


def test_a_trial_that_two_searches_share_is_shown_with_the_value_of_each(make: Make) -> None:
    records: dict[str, Record] = {}

    def world(job: Job) -> float:
        options = {name: value for part in job.method.parts() for name, value in part.options}
        return 60 - abs(float(str(options["temperature"])) - 0.2) - abs(float(str(options["dropout"])) - 0.1)

    def shown(name: str, best: str) -> Mapping[str, float]:
        values: list[float] = [0.05, 0.1, 0.2]
        scale = "infonce(temperature=0.1), recipe(dropout=0.1)"
        search = make(methods="simcse", fractions=[0.5], scale=scale, tune={"options": {name: values}, "further": 0})
        jobs, _ = run(search, world, records)
        trials = {key: record for key, record in records.items() if record.purpose == "tuning"}
        reported = [records[job.key] for job in jobs if job.purpose == "reported"]
        [found] = sensitivities(reported, trials)
        assert (found.option, found.chosen) == (name, best)
        results = Results.of(Path("results"), records.values(), ())
        assert set(results.tuning().options) >= {f"{name.replace('.', '(')}={value})" for value in values}
        return found.scores

    assert shown("recipe.dropout", "0.1") == pytest.approx({"0.05": 59.85, "0.1": 59.9, "0.2": 59.8})
    assert shown("infonce.temperature", "0.2") == pytest.approx({"0.05": 59.85, "0.1": 59.9, "0.2": 60.0})
    assert sum(record.purpose == "tuning" for record in records.values()) == 2 * 5  # they share the trials of 0.1


def test_a_value_with_brackets_is_one_value(make: Make) -> None:
    records: dict[str, Record] = {}
    run(make(methods="simcse", fractions=[0.5], tune={"further": 0}), peak(3e-4), records)
    for key, record in records.items():
        if record.tuning:
            [rate] = [part.options["learning_rate"] for part in record.parts if part.part.name == "recipe"]
            teacher = part("teacher", encoder=f"a ({rate})")
            changes = {
                "tuning": replace(record.tuning, options=f"{teacher}, recipe(steps=5)"),
                "parts": (*record.parts, Stated(teacher, 1)),
            }
            records[key] = record.model_copy(update=changes)
    trials = {key: record for key, record in records.items() if record.purpose == "tuning"}
    grid, _ = dev_score_grids(sensitivities((r for r in records.values() if r.purpose == "reported"), trials))
    assert grid.title.startswith("Dev score by teacher.encoder, recipe.steps")
    assert sorted(column.title for column in grid.columns[1:]) == [
        f"'a ({rate})', 60" for rate in ("0.0001", "0.0003", "0.001", "0.003")
    ]
