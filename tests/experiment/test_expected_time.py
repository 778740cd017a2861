"""Expected run time of jobs, the order to run them in, and the time until the last one ends."""

from dataclasses import replace

import pytest

from cseb.experiment.grid import expected_seconds, longest_first, makespan
from cseb.experiment.plan import plan
from cseb.records.record import Cost, Trace
from tests import standin_jobs
from tests.experiment.conftest import Make


def test_the_expected_time_is_the_mean_of_records_of_the_same_method_encoder_and_device() -> None:
    job = standin_jobs.job("simcse")
    record = standin_jobs.record(job, seconds=4.0).model_copy(
        update={"trace": Trace(steps=job.recipe.steps, best_step=1, curve=())}
    )
    longer = record.model_copy(update={"cost": Cost(train_seconds=8.0, score_seconds=2.0, peak_rss_mb=1.0)})
    other_encoder = record.model_copy(update={"encoder": replace(job.encoder, sha256="1" * 64)})
    other_device = record.model_copy(update={"protocol": replace(job.protocol, device="cuda")})
    failed = standin_jobs.record(job, failed="nan")
    others = [other_encoder, other_device, failed, standin_jobs.record(standin_jobs.job("micse"))]
    assert expected_seconds([job], [record, longer, *others]) == {job.key: 7.0}
    assert expected_seconds([job], others) == {job.key: None}


def test_training_time_is_scaled_to_the_number_of_steps() -> None:
    job = standin_jobs.job("simcse")
    record = standin_jobs.record(job).model_copy(
        update={
            "trace": Trace(steps=job.recipe.steps * 4, best_step=1, curve=()),
            "cost": Cost(train_seconds=8.0, score_seconds=3.0, peak_rss_mb=1.0),
        }
    )
    assert expected_seconds([job], [record])[job.key] == pytest.approx(5.0)


def test_each_job_goes_to_the_next_free_worker() -> None:
    assert makespan([5, 4, 3, 3, 3], 2) == 10
    assert makespan([5, 4, 3, 3, 3], 1) == 18
    assert makespan([1, 1], 8) == 1
    assert makespan([], 3) == 0


def test_long_jobs_are_run_first_seed_by_seed(make: Make) -> None:
    jobs = plan(make(methods="cls,simcse+recipe(steps=70),micse,msse"))
    took = {"micse": 50.0, "simcse+recipe(steps=70)": 80.0}
    seconds = {job.key: took.get(job.label) for job in jobs}
    order = longest_first(jobs, seconds, 2)
    labels = ["msse", "cls", "simcse+recipe(steps=70)", "micse"]  # msse and cls: unknown; cls trains nothing
    assert [job.label for job in order] == [label for seed in range(2) for label in labels for share in range(2)]
    assert [job.seed for job in order] == sorted(job.seed for job in jobs)
    assert {job.key for job in order} == {job.key for job in jobs}


def test_a_launcher_with_room_for_all_jobs_takes_the_long_ones_of_every_seed_first(make: Make) -> None:
    jobs = plan(make(methods="simcse,micse"))
    seconds = {job.key: 50.0 if job.label == "micse" else 20.0 for job in jobs}
    assert [job.label for job in longest_first(jobs, seconds, 16)] == ["micse"] * 4 + ["simcse"] * 4
