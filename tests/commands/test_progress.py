"""What a person sees while a grid runs."""

import io
from collections.abc import Sequence
from dataclasses import replace

import pytest
from rich.console import Console

from cseb.commands.progress import Board, mean_points, picture, watching
from cseb.experiment.job import Job
from cseb.launchers.job_runner import Broken, Event, Finished, Started
from cseb.records.progress import Progress
from cseb.records.record import Tuning
from cseb.text import duration
from tests.standin_jobs import job, record

LONG = "micse-ami+recipe(steps=500,learning_rate=0.0001)+queue(size=64)+mean"


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def board(jobs: Sequence[Job], done: Sequence[Job] = (), workers: int = 1) -> Board:
    return Board(
        {job.key: job for job in jobs}, {job.key for job in done}, {job.key: None for job in jobs}, workers, Clock()
    )


def shown(events: Sequence[Event], jobs: Sequence[Job], *, quiet: bool = False, terminal: bool = False) -> str:
    out = Console(file=io.StringIO(), width=80, force_terminal=terminal, highlight=False, color_system=None)
    with watching(board(jobs), quiet=quiet, console=out) as watch:
        for event in events:
            watch(event)
    assert isinstance(out.file, io.StringIO)
    return out.file.getvalue()


def drawn(state: Board, width: int = 80) -> str:
    out = Console(file=io.StringIO(), width=width, highlight=False)
    out.print(picture(state))
    assert isinstance(out.file, io.StringIO)
    return out.file.getvalue()


def test_a_finished_job_is_one_line() -> None:
    jobs = [job("simcse", seed, 0.001) for seed in range(10)]
    result = shown([Started(jobs[2].key), Finished(jobs[2].key, record(jobs[2], 56.314, seconds=7.94))], jobs)
    assert result == "[ 1/10] simcse 0.1 % seed 2: best 56.31 last 56.31 dev 60.00 (7.9 s)\n"


def test_a_line_of_a_trial_names_the_value_that_it_tried() -> None:
    trial = job("simcse", fraction=0.001)
    tuning = Tuning(options="recipe(learning_rate=0.001)", dev="toy-dev@1")
    done, failed = (
        made.model_copy(update={"purpose": "tuning", "tuning": tuning})
        for made in (record(trial, 56.314, seconds=7.94), record(trial, failed="the loss is nan"))
    )
    name = "[1/1] simcse 0.1 % seed 0, recipe(learning_rate=0.001)"
    assert shown([Finished(trial.key, done)], [trial]).startswith(f"{name}: best 56.31")
    assert shown([Finished(trial.key, failed)], [trial]) == f"{name}: failed: the loss is nan\n"
    chosen = done.model_copy(update={"purpose": "reported"})
    assert shown([Finished(trial.key, chosen)], [trial]).startswith("[1/1] simcse 0.1 % seed 0: best")


def test_a_collapsed_encoder_is_called_so() -> None:
    simcse = job("simcse")
    assert "best collapsed last collapsed" in shown([Finished(simcse.key, record(simcse, None))], [simcse])
    assert mean_points(record(simcse, None), "best") is None


def test_what_is_measured_otherwise_is_not_averaged_with_the_first_task() -> None:
    result = record(job("simcse"))
    other = replace(result.scores[0], task="toy-alignment@1", protocol="alignment@1", value=0.2)
    assert mean_points(result.model_copy(update={"scores": (*result.scores, other)}), "best") == 50.0


def test_failures_are_told_even_when_quiet_and_one_bug_has_one_traceback() -> None:
    jobs = [job("simcse[1]", seed) for seed in range(4)]
    events: list[Event] = [
        Finished(jobs[0].key, record(jobs[0])),
        Finished(jobs[1].key, record(jobs[1], failed="the loss is nan")),
        Broken(jobs[2].key, "bug", "KeyError: 'x'", "Traceback [/bold]\n"),
        Broken(jobs[3].key, "bug", "KeyError: 'x'", "Traceback [/bold]\n"),
    ]
    lines = shown(events, jobs, quiet=True).splitlines()
    assert lines == [
        "[2/4] simcse[1] 10 % seed 1: failed: the loss is nan",
        "[3/4] simcse[1] 10 % seed 2: failed: KeyError: 'x'",
        "Traceback [/bold]",
        "[4/4] simcse[1] 10 % seed 3: failed: KeyError: 'x'",
    ]


@pytest.mark.parametrize("width", [40, 200])
def test_running_jobs_fit_the_screen(width: int) -> None:
    jobs = [job(label, seed, 0.01) for label in ("simcse", LONG) for seed in range(5)]
    state = board(jobs, done=jobs[:3], workers=2)
    progress, broken = Progress(jobs[3].key, 20, 60, 1.25, 61.234), Broken(jobs[6].key, "died", "killed")
    for event in (Started(jobs[3].key), progress, Started(jobs[7].key), broken):
        state.update(event)
    state.clock.now = 60.0
    first, second, outlook = drawn(state, width).splitlines()
    assert max(map(len, (first, second, outlook))) <= width
    assert first.startswith("60 s, step 20/60, loss 1.250, dev 61.2") and second.startswith("60 s, starting: micse")
    assert outlook.startswith("3 of 10 done, 1 failed; about ")


def test_a_terminal_gets_finished_jobs_and_errors_above_what_runs() -> None:
    jobs = [job("simcse", seed) for seed in range(3)]
    finished, broken = Finished(jobs[0].key, record(jobs[0])), Broken(jobs[1].key, "user", "no such file")
    events: list[Event] = [Started(jobs[0].key), finished, broken]
    result = shown(events, jobs, terminal=True)
    assert result.index("simcse 10 % seed 0: best 50.00") < result.index("failed: no such file")


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), BrokenPipeError()])
def test_a_screen_that_cannot_be_written_costs_no_job(monkeypatch: pytest.MonkeyPatch, error: OSError) -> None:
    class Full(io.StringIO):
        def write(self, text: str) -> int:
            raise error

    for name in ("stdout", "stderr"):
        monkeypatch.setattr("sys." + name, Full())
    jobs = [job("simcse", seed) for seed in range(2)]
    state = board(jobs)
    with watching(state) as watch:
        for event in (Finished(jobs[0].key, record(jobs[0])), Broken(jobs[1].key, "bug", "KeyError: 'x'", "Trace")):
            watch(event)
    assert (state.done, state.failed) == ({jobs[0].key}, {jobs[1].key})


def test_time_left_is_what_is_known_over_the_workers() -> None:
    jobs = [job("simcse", seed) for seed in range(4)]
    state = board(jobs, workers=2)
    clock = state.clock
    assert isinstance(clock, Clock)
    assert state.seconds_left() is None
    state.update(Started(jobs[0].key))
    state.update(Progress(jobs[0].key, 10, 40, 1.0, None))
    clock.now = 5.0  # a quarter in 5 s: 20 s a job, 75 s of work left on two workers
    assert state.seconds_left() == pytest.approx((15 + 60) / 2)
    state.update(Progress(jobs[0].key, 40, 40, 1.0, None))
    assert state.seconds_left() is None  # it is being scored, and the time that takes is unknown
    clock.now = 10.0
    state.update(Finished(jobs[0].key, record(jobs[0], seconds=10.0)))
    assert state.seconds_left() == pytest.approx(30 / 2)
    for each in jobs[1:]:
        state.update(Finished(each.key, record(each)))
    assert state.seconds_left() == 0.0


def test_a_job_that_is_run_again_is_not_done_until_it_is() -> None:
    simcse = job("simcse")
    state = board([simcse], done=[simcse])
    state.update(Started(simcse.key))
    assert not state.done
    state.update(Finished(simcse.key, record(simcse)))
    assert state.done == {simcse.key}


def test_durations() -> None:
    assert [duration(seconds) for seconds in (4.4, 89, 600, 7200)] == ["4 s", "89 s", "10 min", "2.0 h"]
