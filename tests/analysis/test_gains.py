"""What gains are counted from, and over which seeds."""

from dataclasses import replace

import numpy as np
import pytest

from cseb.analysis.gains import floor, gains
from cseb.analysis.study import gather
from cseb.errors import BadResults
from cseb.records.record import Record
from tests.factory import TASKS, record

TRAINED = [
    *(record("simcse", seed=seed, values=(50.0, 60.0, 70.0 + seed)) for seed in range(3)),
    *(record("micse", seed=seed, values=(51.0, 60.0 + seed, None if seed == 2 else 75.0)) for seed in range(3)),
]


def standing(pooler: str = "mean", points: tuple[float, ...] = (40.0, 45.0, 50.0), **more: object) -> Record:
    made = record(pooler, size=1, corpus="none", dev="", values=points, resolved=f"{pooler}()@1", **more)  # type: ignore[arg-type]
    return made.model_copy(update={"subset": replace(made.subset, size=0, fraction=1.0)})


def start(*records: Record, baseline: str = ""):
    return floor([*TRAINED, *records], gather(TRAINED), TASKS, "best", baseline)


def test_gains_over_another_method_are_paired_by_seed() -> None:
    found = gains(gather(TRAINED), 100, TASKS, "best", start(baseline="simcse"))
    assert list(found) == ["micse"]  # and the seed that collapsed on one task is left out
    assert found["micse"].tolist() == [[1.0, 0.0, 5.0], [1.0, 1.0, 4.0]]


def test_gains_over_the_untrained_encoder() -> None:
    base = start(standing())
    assert base.title == "the untrained encoder (mean)"
    found = gains(gather(TRAINED), 100, TASKS, "best", base)
    assert {method: len(rows) for method, rows in found.items()} == {"simcse": 3, "micse": 2}
    assert found["simcse"][1].tolist() == [10.0, 15.0, 21.0]
    one = gains(gather(TRAINED), 100, TASKS[1:], "best", start(standing(), standing("cls"), baseline="cls"))
    assert np.shape(one["simcse"]) == (3, 2)


def test_what_gains_cannot_be_counted_from() -> None:
    with pytest.raises(BadResults, match="cseb eval bert"):
        start()
    with pytest.raises(BadResults, match="cseb eval bert"):
        start(standing(encoder="other"))  # not the encoder that was trained
    with pytest.raises(BadResults, match="cseb eval bert"):
        start(standing(measures=dict.fromkeys(TASKS, "mteb@1")))  # points of another protocol
    with pytest.raises(BadResults, match="mean, cls; choose one with --baseline"):
        start(standing(), standing("cls"))
    with pytest.raises(BadResults, match="did you mean simcse"):
        start(baseline="simcs")
