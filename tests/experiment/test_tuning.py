"""The search finds a known optimum, gives every method the same budget, and trials train as reported runs do."""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from cseb.analysis.tuning import dev_score, sensitivities
from cseb.errors import CsebError
from cseb.experiment.benchmark import Benchmark, load, override, text
from cseb.experiment.job import Job
from cseb.experiment.plan import plan
from cseb.experiment.tuning import FIRST_SEED
from cseb.records.record import Record, Trace
from tests.experiment.conftest import Make
from tests.standin_jobs import record as standin_record

RATES = (1e-4, 3e-4, 1e-3, 3e-3)
World = Callable[[Job], float | None]  # the dev score that a job would have


def rate(job: Job) -> float:
    return float(dict(job.method.recipe.options)["learning_rate"])


def peak(at: float) -> World:
    """A world in which one learning rate is the best one, whatever the method."""
    return lambda job: 60 - abs(math.log10(rate(job) / at)) + 0.01 * (job.seed % 2)


def finished(job: Job, dev: float | None) -> Record:
    """The record of a job with this score; None for a training that failed."""
    made = standin_record(job, failed="the loss is nan" if dev is None else "")
    trace = None if dev is None else Trace(steps=4, best_step=2, curve=((2, 0.5, dev), (4, 0.5, dev - 1)))
    return made.model_copy(update={"purpose": job.purpose, "tuning": job.tuning, "trace": trace, "scores": ()})


def run(benchmark: Benchmark, world: World, records: dict[str, Record] | None = None) -> tuple[list[Job], list[int]]:
    """Plan and run until nothing is left. Return the jobs, and how many each stage had to run."""
    done = {} if records is None else records
    stages = []
    while True:
        jobs = plan(benchmark, records=done)
        todo = [job for job in jobs if job.key not in done]
        if not todo:
            return jobs, stages
        stages.append(len(todo))
        done |= {job.key: finished(job, world(job)) for job in todo}


def reported(jobs: list[Job]) -> dict[tuple[str, int], set[float]]:
    """The learning rates of reported jobs by method and size."""
    rates: dict[tuple[str, int], set[float]] = {}
    for job in jobs:
        if job.purpose == "reported":
            rates.setdefault((job.label, job.size), set()).add(rate(job))
    return rates


@pytest.fixture
def grid(make: Make) -> Benchmark:
    return make(methods="simcse,micse,cls", fractions=(), sizes=[100, 500], tune={})


def test_true_is_the_search_with_its_defaults(make: Make) -> None:
    assert make(tune=True) == make(tune={}) != make(tune=None) == make(tune=False)


def test_the_best_rate_is_chosen_at_each_size_and_untrained_methods_are_not_tuned(grid: Benchmark) -> None:
    at_sizes: Mapping[int, float] = {100: 3e-4, 500: 1e-3}
    jobs, stages = run(grid, lambda job: peak(at_sizes[job.size])(job))
    assert stages == [2 * 2 * 4 * 2, 3 * 2 * 2]  # methods x sizes x rates x tuning seeds, then methods x sizes x seeds
    rates = reported(jobs)
    assert {place: rates[place] for place in rates if place[0] != "cls"} == {
        (label, size): {at_sizes[size]} for label in ("simcse", "micse") for size in (100, 500)
    }
    assert {job.tuning for job in jobs if job.label == "cls"} == {None}


def test_trials_are_the_reported_runs_but_for_seed_value_and_test_tasks(grid: Benchmark) -> None:
    trials, reports = plan(grid), plan(grid.model_copy(update={"tune": None}))
    assert {trial.seed for trial in trials} == {FIRST_SEED, FIRST_SEED + 1}
    assert not {trial.seed for trial in trials} & set(range(10_000))  # as many as a benchmark may have
    for trial in trials:
        (report,) = (job for job in reports if (job.label, job.size, job.seed) == (trial.label, trial.size, 0))
        assert trial.protocol.tasks == () and trial.protocol.dev == report.protocol.dev
        options = {**dict(trial.method.recipe.options), "learning_rate": rate(report)}
        assert replace(trial.method, recipe=report.method.recipe) == report.method
        assert options == dict(report.method.recipe.options)


def test_at_an_edge_every_method_is_tried_with_a_further_value(grid: Benchmark) -> None:
    best = {"simcse": 1e-2, "micse": 3e-4}
    jobs, stages = run(grid, lambda job: peak(best[job.label])(job) if job.label in best else 0.0)
    assert stages[:3] == [32, 8, 8]  # 1e-2 is tried, is the new edge, and 3e-2 shows that it is the best
    trials = [job for job in jobs if job.purpose == "tuning"]
    for label in best:
        assert sorted({rate(job) for job in trials if job.label == label}) == [*RATES, 1e-2, 3e-2]
    rates = reported(jobs)
    assert (rates["simcse", 100], rates["micse", 100]) == ({1e-2}, {3e-4})
    (tuning,) = {job.tuning for job in jobs if (job.label, job.size, job.purpose) == ("simcse", 500, "reported")}
    assert tuning is not None and (tuning.options, tuning.added) == ("recipe(learning_rate=0.01)", 2)
    low, _ = run(grid, peak(3e-5))
    assert reported(low)["simcse", 100] == {3e-5} and min(rate(job) for job in low if job.label == "micse") == 1e-5


@pytest.mark.parametrize(("warmups", "chosen"), [([2, 4, 8], 3e-3), ([0, 4, 8], 1e-3)])
def test_a_value_is_added_for_one_method_if_it_can_be_for_all(make: Make, warmups: list[int], chosen: float) -> None:
    """The best rate is above the highest one, the best warm-up is inside; nothing can be added to values with a 0."""
    own = {"tsdae": {"recipe.warmup": warmups}}
    tune = {"options": {"recipe.learning_rate": [1e-4, 3e-4, 1e-3]}, "per_method": own, "further": 3}

    def world(job: Job) -> float | None:
        return peak(3e-3)(job) if job.label == "simcse" else float(dict(job.method.recipe.options)["warmup"] == 4)

    jobs, _ = run(make(methods="simcse,tsdae", fractions=[0.5], tune=tune), world)
    choices = {job.label: job.tuning.options for job in jobs if job.purpose == "reported" and job.tuning}
    assert choices == {"simcse": f"recipe(learning_rate={chosen})", "tsdae": "recipe(warmup=4)"}


def test_values_added_at_one_edge_leave_those_of_the_other(make: Make) -> None:
    best = {"simcse": 1e-8, "micse": 1e-2}
    jobs, _ = run(
        make(methods="simcse,micse", fractions=[0.5], tune={"further": 2}), lambda job: peak(best[job.label])(job)
    )
    assert reported(jobs) == {("simcse", 500): {1e-5}, ("micse", 500): {1e-2}}
    tried = {label: sorted({rate(job) for job in jobs if job.label == label}) for label in best}
    assert tried["simcse"] == tried["micse"] == [1e-5, 3e-5, *RATES, 1e-2, 3e-2]


@pytest.mark.parametrize("best", [1.0, 1e-8])
def test_the_search_ends_and_says_so_where_the_best_value_stays_at_an_edge(make: Make, best: float) -> None:
    grid = make(methods="simcse", fractions=[0.5], tune={"further": 1})
    jobs, stages = run(grid, peak(best))
    assert stages == [8, 2, 2]
    tuning = jobs[-1].tuning
    assert tuning is not None and tuning.at_edge == ("recipe.learning_rate",)


@pytest.mark.parametrize(
    ("option", "values", "best"),
    [("dropout", [0.1, 0.2, 0.4], 0.8), ("weight_decay", [0.1, 0.5], 0.5), ("weight_decay", [0.1, 0.5], 0.004)],
)
def test_no_value_is_added_that_the_option_cannot_have(
    make: Make, option: str, values: list[float], best: float
) -> None:
    """The command stopped when all trials had been paid for: dropout is 1.6; it must lie between 0 and 1."""
    grid = make(methods="simcse", fractions=[0.5], tune={"options": {f"recipe.{option}": values}})

    def world(job: Job) -> float:
        return -abs(math.log(float(dict(job.method.recipe.options)[option]) / best))

    jobs, _ = run(grid, world)
    tuning = jobs[-1].tuning
    assert tuning is not None and tuning.options == f"recipe({option}={best})"
    assert tuning.at_edge == ((f"recipe.{option}",) if best >= 0.5 else ())


def test_a_value_with_which_a_seed_collapsed_is_tried_and_not_chosen(make: Make) -> None:
    def world(job: Job) -> float | None:
        return None if rate(job) >= 3e-3 and job.seed == FIRST_SEED + 1 else 40 + 1e4 * rate(job)

    jobs, stages = run(make(methods="simcse", fractions=[0.5], tune={}), world)
    assert stages == [8, 2] and reported(jobs) == {("simcse", 500): {1e-3}}


def test_no_value_is_chosen_if_all_failed_or_collapsed(make: Make) -> None:
    grid = make(methods="simcse,micse", fractions=[0.5], tune={"further": 1})
    message = "with every value of recipe.learning_rate a seed of micse failed or collapsed at 500 sentences"
    with pytest.raises(CsebError, match=message):
        run(grid, lambda job: None if job.label == "micse" and job.seed == FIRST_SEED else peak(1e-3)(job))


def test_a_method_at_an_edge_without_a_further_value_does_not_end_the_search_for_others(make: Make) -> None:
    def size(job: Job) -> int:
        return int(str(dict(job.method.memory.options)["size"]))

    grid = make(methods="simcse+moco,esimcse", fractions=[0.5], tune={"options": {"queue.size": [1, 2, 4]}})
    jobs, _ = run(grid, lambda job: float(min(size(job), 16) if job.label == "esimcse" else -size(job)))
    chosen = {job.label: size(job) for job in jobs if job.purpose == "reported"}
    assert chosen == {"simcse+moco": 1, "esimcse": 16}


def test_the_lower_of_equal_values_is_chosen(make: Make) -> None:
    jobs, _ = run(make(methods="simcse", fractions=[0.5], tune={}), lambda job: float(rate(job) in (3e-4, 1e-3)))
    assert reported(jobs) == {("simcse", 500): {3e-4}}


def test_a_larger_budget_keeps_every_key(make: Make) -> None:
    small = make(methods="simcse,micse", fractions=[0.5], tune={"options": {"recipe.learning_rate": "3e-4,1e-3,3e-3"}})
    records: dict[str, Record] = {}
    before, _ = run(small, peak(1e-3), records)
    more = {"options": {"recipe.learning_rate": RATES}, "seeds": 3}
    after, stages = run(override(small, tune=more, seeds=4), peak(1e-3), records)
    assert {job.key for job in before} <= {job.key for job in after}
    assert stages == [2 * (3 * 1 + 1 * 3), 2 * 2]
    assert {job.key for job in before} & set(records) == {job.key for job in before}
    trials = {key: record for key, record in records.items() if record.purpose == "tuning"}
    shown = sensitivities((record for record in records.values() if record.purpose == "reported"), trials)
    assert {(each.method, len(each.scores), each.seeds, len(each.tuning.trials)) for each in shown} == {
        (method, 4, 3, 4 * 3) for method in ("simcse", "micse")
    }


def test_other_options_combinations_and_one_size(make: Make) -> None:
    space = {"recipe.learning_rate": [1e-4, 3e-4, 1e-3], "infonce.temperature": [0.03, 0.05, 0.1]}
    own = {"tsdae": {"recipe.learning_rate": [1e-4, 3e-4, 1e-3], "recipe.warmup": [0, 5, 10]}}
    tune = {"options": space, "per_method": own, "at": 200, "seeds": 1}
    grid = make(methods="simcse,tsdae", fractions=(), sizes=[100, 500], tune=tune)

    def world(job: Job) -> float:
        options = {name: value for part in job.method.parts() for name, value in part.options}
        best = options["temperature"] == 0.05 if job.label == "simcse" else options["warmup"] == 5
        return best - abs(math.log10(rate(job) / 3e-4))

    jobs, stages = run(grid, world)
    assert stages == [2 * 9, 2 * 2 * 2]
    assert {job.size for job in jobs if job.purpose == "tuning"} == {200}
    chosen = {job.label: job.tuning.options for job in jobs if job.purpose == "reported" and job.tuning}
    assert chosen == {
        "simcse": "recipe(learning_rate=0.0003), infonce(temperature=0.05)",
        "tsdae": "recipe(learning_rate=0.0003), recipe(warmup=5)",
    }
    assert {job.size for job in jobs if job.purpose == "reported"} == {100, 500}


def test_a_dev_task_of_its_own_is_scored_at_the_checkpoint_of_reported_runs(make: Make) -> None:
    for dev, select in (("", "last"), ("toy-relations", "best")):
        trial = plan(make(methods="simcse", dev=dev, tune={"dev": "toy-dev"}))[0]
        assert (trial.protocol.tasks, trial.protocol.dev) == (("toy-dev@1",), f"{dev}@1" if dev else "")
        made = standin_record(trial)
        scores = (replace(made.scores[0], value=1.0), replace(made.scores[1], value=2.0))
        assert dev_score(made.model_copy(update={"scores": scores})) == {"best": 1.0, "last": 2.0}[select]
        collapsed = tuple(replace(score, value=None) for score in scores)
        assert dev_score(made.model_copy(update={"scores": collapsed})) == -math.inf


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"dev": "none", "tune": {}}, "no dev task"),
        ({"tune": {"dev": "toy-captions"}}, "no test task"),
        ({"tune": {"options": {}}}, "no option is named"),
        ({"tune": {"options": {"recipe.rate": [1]}}}, "recipe has no option 'rate'"),
        ({"tune": {"options": {"recipe.steps": [1, 1]}}}, "has a value twice"),
        ({"tune": {"per_method": {"simcse": {"recipe.steps": [1, 2]}}}}, "simcse has 2 values, the others 4"),
        ({"tune": {"per_method": {"simcse": {"recipe.steps": [1, 2, 3, 4, 5]}}}}, "simcse has 5 values, the others 4"),
        ({"tune": {"options": {"ami.weight": [0.1, 1.0]}}}, "ami.weight cannot be tuned for simcse"),
        (
            {"tune": {"options": {"ami.weight": [0.1, 1.0], "recipe.steps": [1, 2]}}},
            "recipe.steps cannot be tuned for simcse",
        ),
        ({"methods": "simcse+recipe(learning_rate=1e-3)", "tune": {}}, "which sets it itself or lacks the part"),
        ({"tune": {"at": 5}}, "a fraction of the corpus"),
        ({"tune": {"values": [1]}}, "no field is called 'tune.values'"),
    ],
)
def test_what_cannot_be_tuned_is_refused(make: Make, changes: dict[str, object], message: str) -> None:
    with pytest.raises(CsebError, match=message):
        plan(override(make(), **changes) if "methods" in changes else override(make(), **{"tune": None} | changes))


def test_a_benchmark_file_states_it(make: Make, tmp_path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(text(make()) + "tune:\n  options:\n    recipe.learning_rate: [1e-3, 1e-4]\n  seeds: 3\n")
    loaded = load(str(file))
    assert loaded.tune is not None and loaded.tune.spaces() == {"": {"recipe.learning_rate": (1e-4, 1e-3)}}
    file.write_text(text(loaded))
    assert load(str(file)) == loaded


# Dev scores of SimCSE on the first cseb-tiny with 1,000 sentences of Wikipedia, two seeds, by learning rate. The short
# ones are in results/real/rates.csv at commit 70a07a2a.
SHORT = {1e-4: (48.5943, 48.1194), 3e-4: (48.9981, 50.6964), 1e-3: (49.9188, 52.7484), 3e-3: (53.2729, 55.4013)}
FULL = {1e-4: (50.0690, 50.7749), 3e-4: (53.9252, 53.8513), 1e-3: (56.5428, 56.9055), 3e-3: (49.8513, 57.7536)}


@pytest.mark.parametrize(("recorded", "chosen", "at_edge"), [(SHORT, 3e-3, True), (FULL, 1e-3, False)])
def test_trials_shorter_than_the_reported_runs_choose_wrongly_for_simcse(
    make: Make, recorded: Mapping[float, tuple[float, float]], chosen: float, at_edge: bool
) -> None:
    """Trials of 120 steps against trials of 320 steps, the length of the reported runs."""
    grid = make(methods="simcse", fractions=(), sizes=[1000], tune={"further": 0})
    jobs, _ = run(grid, lambda job: recorded[rate(job)][job.seed % 2])
    assert reported(jobs) == {("simcse", 1000): {chosen}}
    tuning = jobs[-1].tuning
    assert tuning is not None and bool(tuning.at_edge) is at_edge
