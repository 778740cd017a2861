"""`cseb run` tunes, runs what was chosen, goes on after an interruption, and shows both."""

import shutil
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

import cseb
from benchmarks import archive
from cseb.commands.planned_grid import run_stages
from cseb.commands.run import plan_grid
from cseb.experiment.benchmark import Benchmark, load, override, text
from cseb.launchers.job_runner import Event, Started
from tests.command_line import printed
from tests.conftest import SENTENCES
from tests.factory import stored
from tests.world import WORLD

OPTIONS = {"device": "cpu", "workers": 1}


@pytest.fixture(scope="module")
def benchmark(tmp_path_factory: pytest.TempPathFactory, tiny: Callable[[str], Path]) -> Benchmark:
    folder = tmp_path_factory.mktemp("tuned")
    (folder / "corpus.txt").write_text("\n".join(SENTENCES), encoding="utf-8")
    changes: dict[str, Any] = {
        "name": "tuned",
        "methods": "simcse,cls",
        "encoder": str(tiny("bert")),
        "corpus": str(folder / "corpus.txt"),
        "sizes": "16",
        "seeds": 2,
        "tasks": "toy-captions",
        "scale": "recipe(steps=2,warmup=0,batch_size=8,eval_every=1)",
        "tune": {"options": {"recipe.learning_rate": [1e-3, 1e-2]}, "seeds": 2, "further": 0},
    }
    return override(load(WORLD), **changes)


@pytest.fixture(scope="module")
def tuned(benchmark: Benchmark, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tuned-results")
    file = folder / "tuned.yaml"
    file.write_text(text(benchmark))
    before = printed("run", file, "--results", folder / "results", "--dry-run", *options())
    assert "4 tuning trials, 4 to run; the runs with the chosen values follow." in before
    assert "simcse, recipe(learning_rate=0.001)" in before and "cls" not in before
    printed("run", file, "--results", folder / "results", "--quiet", *options())
    return folder / "results"


def options() -> list[str]:
    return [word for name, value in OPTIONS.items() for word in (f"--{name}", str(value))]


def test_one_command_tunes_and_runs_what_was_chosen(tuned: Path, benchmark: Benchmark) -> None:
    results = cseb.load(tuned)
    assert (len(results.records), len(results.trials)) == (4, 4)
    frame = results.tuning()
    assert not any(record.scores for record in results.trials) and frame.dev.notna().all()
    best = frame.groupby("options").dev.mean().idxmax()
    assert set(frame.options[frame.chosen]) == {best}
    simcse = [record for record in results if record.method == "simcse"]
    assert {record.tuning.options for record in simcse if record.tuning} == {best}
    assert all(record.tuning and set(record.tuning.trials) == set(frame.key) for record in simcse)
    again = cseb.run(tuned / "benchmark-tuned.yaml", results=tuned, **OPTIONS)
    assert {record.key for record in again} == {record.key for record in results} and len(again.trials) == 4


def test_the_option_tunes_the_learning_rate() -> None:
    listed = printed("run", WORLD, "--tune", "--dry-run", *options())
    assert "48 tuning trials, 48 to run" in listed  # 3 methods x 2 sizes x 4 rates x 2 seeds
    assert "micse, recipe(learning_rate=0.0001)" in listed


def test_report_and_show_say_how_it_was_tuned(tuned: Path) -> None:
    short, detail = (" ".join(cseb.report(tuned, detail=each).split()) for each in (False, True))
    assert "Tuned on toy-dev, 2 values x 2 seeds for each method." in short and "Chosen: recipe(" in short
    assert "Dev score by recipe.learning_rate, 16 sentences method" in detail and "*: chosen" in detail
    assert "Dev score" not in cseb.report(tuned, detail=True, format="csv")
    assert "n=4" not in short
    results = cseb.load(tuned)
    reported = next(record for record in results if record.tuning is not None)
    shown = cseb.show(reported.key, results=tuned)
    listed = printed("run", tuned / "benchmark-tuned.yaml", "--results", tuned, "--dry-run", *options())
    assert "the benchmark replaces:" in listed and "learning_rate=3e-05" in listed  # scale has no learning rate
    assert "replaced by the benchmark\n" in shown
    for trial in results.trials:
        assert f"trial {trial.key}" in shown
    assert "tried" in cseb.show(results.trials[0].key, results=tuned)


def test_a_stopped_run_continues_and_rerun_repeats_each_job(benchmark: Benchmark, tuned: Path, tmp_path: Path) -> None:
    store = stored(tmp_path / "results")
    done = [trial for trial in cseb.load(tuned).trials if trial.seed == 10_000]
    for record in done:
        store.write(record, {})
    started: list[str] = []

    def watch(event: Event) -> None:
        if isinstance(event, Started):
            started.append(event.key)

    planned = plan_grid(benchmark, store.folder, **OPTIONS)
    assert len(planned.grid.todo) == 2
    last, summary = run_stages(planned, lambda _: nullcontext(watch))
    assert summary.exit_code == 0 and len(started) == 2 + 4 and len(last.grid.jobs) == 4 + 4
    started.clear()
    run_stages(plan_grid(benchmark, store.folder, rerun="all", **OPTIONS), lambda _: nullcontext(watch))
    assert len(started) == len(set(started)) == 8


def test_no_report_while_a_trial_is_open(benchmark: Benchmark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from cseb.errors import BadData
    from cseb.experiment import run_job as module

    def refuse(*_: object, **__: object) -> None:
        raise BadData("the corpus is gone")

    monkeypatch.setattr(module, "run_job", refuse)
    planned, summary = run_stages(plan_grid(benchmark, tmp_path, **OPTIONS))
    assert summary.exit_code == 2 and {job.purpose for job in planned.grid.jobs} == {"tuning"}
    assert cseb.load(tmp_path).trials == ()


@pytest.mark.parametrize("archived", [False, True])
def test_a_run_that_another_search_chose_names_its_trials(
    benchmark: Benchmark, tuned: Path, tmp_path: Path, archived: bool
) -> None:
    store = stored(tmp_path / "results")
    if archived:
        archive.main([str(tuned), "--out", str(store.folder)])
    else:
        shutil.copytree(tuned, store.folder, dirs_exist_ok=True)
    before = next(record for record in store.load()[0] if record.tuning is not None and record.tuning.trials)
    items = store.read_items(before.key)
    assert before.tuning is not None
    value = float(before.tuning.options.rpartition("=")[2].rstrip(")"))
    one = override(benchmark, tune={"options": {"recipe.learning_rate": [value]}, "seeds": 2, "further": 0})
    planned, summary = run_stages(plan_grid(one, store.folder, **OPTIONS))
    assert planned.grid.todo == [] and summary.exit_code == 0  # every job has a record
    after = store.read(before.key)
    assert after.tuning is not None and len(before.tuning.trials) == 4
    assert len(after.tuning.trials) == (4 if archived else 2)  # an archive is never changed
    assert after.model_copy(update={"tuning": before.tuning}) == before
    assert items and store.read_items(before.key).keys() == items.keys()
