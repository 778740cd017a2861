"""Records in experiment trackers: a tracker of the tests, and the real packages where they are installed."""

import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import cseb
from cseb.commands import export
from cseb.errors import BadBenchmark, BadResults, BadSpec
from cseb.exchange import trackers
from cseb.exchange.trackers import series, settings, track
from cseb.records.record import Record
from cseb.records.store import Store
from tests.command_line import call
from tests.factory import record
from tests.world import WORLD

pytest.importorskip("accelerate")


class Fake:
    """A tracker that keeps what it is sent."""

    def __init__(self) -> None:
        self.settings: dict[str, Any] = {}
        self.values: list[tuple[int | None, dict[str, float]]] = []
        self.finished = False

    def start(self) -> None:
        sys.stdout.write("noise of a package")

    def store_init_configuration(self, values: dict[str, Any]) -> None:
        self.settings = values

    def log(self, values: dict[str, float], step: int | None = None) -> None:
        self.values.append((step, values))

    def finish(self) -> None:
        self.finished = True


@pytest.fixture
def fakes(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Fake]]:
    made: list[Fake] = []

    def make(*_: object) -> Fake:
        made.append(Fake())
        return made[-1]

    monkeypatch.setattr(trackers, "_tracker", make)
    monkeypatch.setattr(trackers, "find_spec", lambda _: object())
    yield made


def along(run: Record) -> Record:
    trace = replace(run.trace, along=((20, {"snli@1": 30.0, "a&b@1": None}), (40, {"snli@1": 31.0, "a&b@1": 5.0})))
    return run.model_copy(update={"trace": trace})


def test_numbers_of_a_record_by_step() -> None:
    result = dict(series(along(record(values=(50.0, None, 70.0)))))
    assert result[20] == {"train/loss": 1.5, "dev/stsb-dev": 60.0, "track/snli": 30.0}
    assert result[40] == {"train/loss": 1.25, "dev/stsb-dev": 62.0, "track/snli": 31.0, "track/a_b": 5.0}
    assert result[60]["best/sts12"] == 50.0
    assert "best/sts13" not in result[60]  # the encoder has collapsed
    assert result[60]["cost/train_seconds"] == 4.5


def test_settings_name_the_options_of_parts_and_why_a_job_failed() -> None:
    result = settings(record(failed="the loss is not finite"))
    assert result["recipe.steps"] == 60
    assert result["method"] == "simcse"
    assert (result["status"], result["failure"]) == ("failed", "the loss is not finite")
    assert series(record(failed="x"))[0][1].keys() == {"cost/train_seconds", "cost/score_seconds", "cost/peak_rss_mb"}


def stored(folder: Path, *records: Record) -> Path:
    store = Store(folder)
    store.prepare()
    for run in records:
        store.write(run, {})
    return folder


def test_all_records_of_a_folder_are_sent(tmp_path: Path, fakes: list[Fake]) -> None:
    seeds = range(12)
    folder = stored(tmp_path / "results", *(record(seed=seed, failed="no" if seed == 2 else "") for seed in seeds))
    result = call("export", "all", "--results", str(folder), "--format", "mlflow")
    assert (result.exit_code, result.stdout) == (0, "written to mlflow\n"), result.output
    assert [fake.settings["seed"] for fake in fakes] == list(seeds)
    assert all(fake.finished for fake in fakes)


def test_a_grid_is_sent_job_by_job(tmp_path: Path, fakes: list[Fake]) -> None:
    options: dict[str, Any] = {"corpus": "wikipedia:7000", "sizes": [70], "seeds": 1, "steps": 2, "workers": 1}
    grid = cseb.run(WORLD, tasks="toy-captions", device="cpu", results=tmp_path / "r", track_to="wandb", **options)
    assert {fake.settings["key"] for fake in fakes} == {run.key for run in grid.records}
    assert fakes


def test_a_tracker_that_fails_ends_no_grid(
    tmp_path: Path, fakes: list[Fake], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from cseb.launchers.job_runner import Finished

    def fail(self: Fake) -> None:
        raise ConnectionError("no route\nto host")

    monkeypatch.setattr(Fake, "start", fail)
    values: list[object] = []
    event = Finished(record().key, record())
    export.tracked(values.append, "wandb", tmp_path)(event)
    assert values == [event]
    assert "wandb fails: no route; cseb export" in capsys.readouterr().err
    folder = stored(tmp_path / "results", record(), record(seed=1))
    with pytest.raises(
        BadResults, match=r"nothing can be written of 2 records; the first: .* is not tracked: wandb fails"
    ):
        cseb.export("all", folder, format="wandb")


def test_a_tracker_that_is_not_installed_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trackers, "find_spec", lambda _: None)
    folder = stored(tmp_path / "results", record())
    for action in (
        lambda: cseb.export("all", folder, format="trackio"),
        lambda: cseb.run(WORLD, results=tmp_path / "r", track_to="trackio", workers=1, device="cpu"),
    ):
        with pytest.raises(BadSpec, match=r"the tracker trackio is not installed; pip install 'cseb\[trackio\]'"):
            action()


def test_a_tracker_takes_no_folder(tmp_path: Path, fakes: list[Fake]) -> None:
    with pytest.raises(BadBenchmark, match="the environment variables of mlflow say where"):
        cseb.export("all", stored(tmp_path / "results", record()), format="mlflow", to=tmp_path / "x")


def installed(name: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(find_spec(name) is None, reason=f"cseb[{name}] is not installed")


@pytest.mark.filterwarnings("ignore")
@installed("tensorboard")
def test_tensorboard_reads_the_event_files(tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    track(along(record()), "tensorboard", tmp_path)
    (folder,) = tmp_path.iterdir()
    assert folder.name.startswith("n_100_seed_0_simcse-")
    events = EventAccumulator(str(folder))
    events.Reload()
    assert [(event.step, event.value) for event in events.Scalars("train/loss")] == [(20, 1.5), (40, 1.25)]
    assert [(event.step, event.value) for event in events.Scalars("best/sts13")] == [(60, 60.0)]


@pytest.mark.filterwarnings("ignore")
@installed("mlflow")
def test_mlflow_has_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import mlflow

    monkeypatch.chdir(tmp_path)
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/mlflow.db")
    track(along(record()), "mlflow", tmp_path)
    track(record(seed=1), "mlflow", tmp_path)
    runs = mlflow.search_runs(experiment_names=["world"])
    assert sorted(runs["params.seed"]) == ["0", "1"]
    assert sorted(runs["tags.mlflow.runName"]) == ["n=100 seed=0 simcse", "n=100 seed=1 simcse"]
    assert set(runs["metrics.best/sts12"]) == {50.0}
    assert set(runs["tags.cseb.key"]) == {record().key, record(seed=1).key}
    history = mlflow.MlflowClient().get_metric_history(runs["run_id"][0], "train/loss")
    assert [(metric.step, metric.value) for metric in history] == [(20, 1.5), (40, 1.25)]


@pytest.mark.filterwarnings("ignore")
@installed("wandb")
def test_wandb_writes_a_run_offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WANDB_MODE", "offline")
    track(along(record()), "wandb", tmp_path)
    track(record(seed=1), "wandb", tmp_path)
    assert len(list(tmp_path.glob("wandb/offline-run-*/*.wandb"))) == 2


@pytest.mark.filterwarnings("ignore")
@installed("trackio")
def test_trackio_has_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACKIO_DIR", str(tmp_path))
    for name in [name for name in sys.modules if name.partition(".")[0] == "trackio"]:
        monkeypatch.delitem(sys.modules, name)  # it reads the variable once
    track(along(record()), "trackio", tmp_path)
    from trackio.sqlite_storage import SQLiteStorage

    (name,) = SQLiteStorage.get_runs("world")
    logs = SQLiteStorage.get_logs("world", name)
    assert [entry["train/loss"] for entry in logs if "train/loss" in entry] == [1.5, 1.25]
