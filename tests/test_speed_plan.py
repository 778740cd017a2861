"""The pages of calculated times follow from the costs that are kept."""

from __future__ import annotations

import pytest

from benchmarks.speed import plan, run_time


def test_the_page_has_the_tables_of_the_kept_costs() -> None:
    text = plan.PAGE.read_text(encoding="utf-8")
    assert plan.with_tables(text) == text, "run python -m benchmarks.speed.plan"


def test_the_guide_has_the_calculated_times() -> None:
    text = run_time.PAGE.read_text(encoding="utf-8")
    assert run_time.with_tables(text) == text, "run python -m benchmarks.speed.run_time"


def test_a_step_takes_its_operations_or_the_start_of_its_kernels() -> None:
    encoder = run_time.Encoder("", weights=85e6, layers=12)
    operations = 6 * 85e6 * 128 * 21.9
    assert run_time.step(encoder, 10e12) == pytest.approx(operations / 3e12)
    assert run_time.step(encoder, 1e15) == pytest.approx(0.024)


def test_the_time_is_the_longest_gpu_of_jobs_handed_out_longest_first() -> None:
    seconds = {"a/0/0": 5.0, "b/0/0": 4.0, "c/0/0": 3.0, "d/0/0": 3.0, "e/0/0": 3.0}
    assert plan.elapsed(seconds, 1) == 18
    assert plan.elapsed(seconds, 2) == 10  # 5 + 3, 4 + 3 + 3
    assert plan.elapsed(seconds, 3) == 7  # 5, 4 + 3, 3 + 3


def test_more_gpus_stop_helping_at_the_longest_job() -> None:
    seconds = plan.seconds_of({"simcse": 1.0, "slow": 10.0}, 0.05)
    assert len(seconds) == 50
    assert plan.elapsed(seconds, 1_000) == max(seconds.values()) == 10 * 15_625 * 0.05 + 60
