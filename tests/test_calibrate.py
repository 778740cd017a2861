"""Repeats of a benchmark: how far its scores scatter, and what is stored."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from typer.testing import Result

from benchmarks.calibrate import Turn, calibrate, scatter
from cseb.errors import BadResults
from cseb.records.record import Record
from cseb.regression import reference as references
from tests import command_line, world  # noqa: F401 (its tasks)
from tests.conftest import SENTENCES
from tests.factory import record


def repeats(*shifts: float, method: str = "simcse", size: int = 100) -> list[Record]:
    return [record(method, size, values=(50 + shift,) * 3, last=(60 - shift,) * 3) for shift in shifts]


def test_scatter_is_the_pooled_deviation_of_repeats() -> None:
    shifts = (0.0, 0.1, 0.2, 0.1, 0.3)
    small, large = repeats(*shifts), repeats(*(2 * shift for shift in shifts), size=1000)
    sd = float(np.std(shifts, ddof=1))
    assert scatter([[one] for one in small])["simcse"] == pytest.approx(sd)
    both = scatter([list(pair) for pair in zip(small, large, strict=True)])
    assert both["simcse"] == pytest.approx(sd * np.sqrt((1 + 4) / 2))


def test_a_collapsed_repeat_is_no_repeat() -> None:
    with pytest.raises(BadResults, match="collapsed; nothing to repeat"):
        scatter([[record(values=(1.0, None, 1.0))]] * 5)


def test_repeats_measure_the_limit_of_what_is_checked_and_store_it(tmp_path: Path, tiny: Callable[[str], Path]) -> None:
    (tmp_path / "corpus.txt").write_text("\n".join(SENTENCES))
    path = tmp_path / "mine.yaml"
    path.write_text(
        f"name: mine\nmethods: cls, mean\nencoder: {tiny('bert')}\ncorpus: {tmp_path / 'corpus.txt'}\nsizes: [16, 32]\n"
        "seeds: 2\ntasks: toy-captions\ncheck: {methods: mean}\n"
    )

    def check(*options: str) -> Result:
        return command_line.call("check", path, "--workers", 1, "--device", "cpu", *options)

    assert check("--update").exit_code == 0
    refused = check()
    assert refused.exit_code == 2
    assert "the benchmark" in refused.stderr
    assert "has no limit for mean; add a tolerance" in refused.stderr
    measured = calibrate(str(path), turns=[Turn(threads, "1", "blas") for threads in (1, 2, 1, 2, 1)])
    assert (measured.repeats, measured.cells, set(measured.sd)) == (5, "4 jobs", {"mean"})
    assert measured.sd["mean"] < 1e-3  # nothing is trained
    stored = references.read(tmp_path / "expected/mine")
    assert stored.repeatability == measured
    assert stored.items, "what --update has stored stays"
    [*_, expected] = sorted((tmp_path / "expected/mine/runs").iterdir())
    content = json.loads(expected.read_bytes())
    for score in content["scores"]:
        score["value"] += 0.02
    expected.write_text(json.dumps(content))
    assert "allowed ±0.01" in check().output
