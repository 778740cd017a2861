"""The budget of a recommendation, with a clock that jumps: nothing trains, jobs last as long as the test says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from cseb.advice.options import Options
from cseb.advice.verdict import Recommendation
from cseb.api.recommend import advise
from tests.standin_race import LINES, METHODS, SECONDS, START, World, stand_in

Asked = Callable[..., Options]


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    return stand_in(monkeypatch)


@pytest.fixture
def asked(tmp_path: Path, tiny: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> Asked:
    corpus, pairs = tmp_path / "my.txt", tmp_path / "mine.tsv"
    corpus.write_text("\n".join(LINES))
    rows = [f"{LINES[n]}\t{LINES[n + 64]}\t{n % 4}" for n in range(40)]
    pairs.write_text("\n".join(["sentence1\tsentence2\tscore", *rows]))
    made = Options(
        corpus=str(corpus), encoder=str(tiny("bert")), budget=1.0, judge=str(pairs), tasks="", teacher="", ask=0,
        methods=",".join(METHODS), steps=1, out=None, push="", results=None, data_dir="", column="", workers=2,
        threads=1, linear="blas", device="cpu", trust_remote_code=False,
    )  # fmt: skip
    monkeypatch.chdir(tmp_path)
    return lambda minutes, out=None, results=None: replace(made, budget=minutes, out=out, results=results)


def run(options: Options, world: World) -> Recommendation:
    world.now = 0.0
    return advise(options)


@pytest.mark.parametrize(
    ("minutes", "slow", "model"), [(6, 1.0, True), (6, 2.0, True), (9, 0.5, False), (15, 2.0, True)]
)
def test_the_budget_is_kept_and_ends_in_an_estimate(
    asked: Asked,
    world: World,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    minutes: float,
    slow: float,
    model: bool,
) -> None:
    def trained(found: Recommendation, *_: object) -> None:
        world.now += START + slow * SECONDS.get(found.chosen, 1.0)

    monkeypatch.setattr("cseb.advice.model.train_and_export", trained)
    world.slow = slow
    found = run(asked(minutes, tmp_path / "model" if model else None), world)
    assert world.now <= 1.1 * 60 * minutes
    assert found.estimate is not None
    assert found.estimate.seeds >= 2
    if slow <= 1:  # as long as was expected, or less
        assert found.estimate.seeds == 5
        assert {row.seeds for row in found.rows} >= {1}
        assert all(row.seeds for row in found.rows)


def test_a_round_has_as_many_of_the_best_as_there_is_time_for(asked: Asked, world: World) -> None:
    found = run(asked(6.0), world)
    fates = {row.method: row.fate for row in found.rows}
    assert "no time for round 2" in fates.values()
    twice = {row.method for row in found.rows if row.seeds == 2}
    assert len(twice) == 2
    assert all(fates[method] not in ("no time for round 2", "lower half, round 1") for method in twice)
    whole = run(asked(30.0, results=Path("whole")), world)
    assert "no time for round 2" not in {row.fate for row in whole.rows}
    assert max(row.seeds for row in whole.rows) == 4


def test_what_earlier_calls_have_spent_counts(asked: Asked, world: World) -> None:
    run(asked(6.0), world)
    before = world.now
    run(asked(12.0), world)
    assert before < before + world.now <= 1.1 * 60 * 12
    again = run(asked(12.0), world)
    assert world.now < 60  # nothing is left to run
    assert again.estimate is not None
