"""The race and its estimate on simulated scores whose truth is known: how often is it right, and what does it cost?"""

from __future__ import annotations

import numpy as np
import pytest

from tests.conftest import script_of

simulation = script_of("race_simulation")
World = simulation.World
STUDIES = 1000
# 95 %, two-sided, of which five seeds keep 94.2 (statistics.paired), and the noise of so many studies
LEVEL = 0.029 + 2 * np.sqrt(0.029 * 0.971 / STUDIES)


@pytest.mark.slow
@pytest.mark.parametrize("truth", [(0.0,) * 12, tuple(np.linspace(-3, 0, 12))])
@pytest.mark.parametrize("items", [0.5, 3.0])
def test_what_helps_nobody_is_said_to_help_at_most_at_the_stated_level(truth: tuple[float, ...], items: float) -> None:
    found = simulation.studies(World(truth, items=items), STUDIES)
    assert np.mean([race.estimate.finding == "helps" for race, _ in found]) <= LEVEL


@pytest.mark.slow
def test_the_estimate_is_not_flattered_by_having_won() -> None:
    found = [race.estimate for race, _ in simulation.studies(World((0.0,) * 12, items=1.5), STUDIES)]
    gains = np.array([one.gain for one in found])
    assert abs(gains.mean()) < 3 * gains.std() / np.sqrt(STUDIES)
    held = [one.interval.low <= 0 <= one.interval.high for one in found if one.interval is not None]
    assert np.mean(held) > 0.93


@pytest.mark.slow
def test_a_race_loses_little_against_the_whole_grid_for_a_quarter_of_its_runs() -> None:
    world = World(simulation.spread(12))
    found = simulation.studies(world, STUDIES)
    lost = np.mean([[world.loss(one.winner) for one in pair] for pair in found], axis=0)
    assert lost[0] < lost[1] + 0.1
    runs = np.mean([[one.runs for one in pair] for pair in found], axis=0)
    assert runs[0] < 0.3 * runs[1]
    helped = np.mean([[one.estimate.finding == "helps" for one in pair] for pair in found], axis=0)
    assert helped[0] > helped[1] - 0.05
    assert np.mean([simulation.same(world, *pair) for pair in found]) > 0.85


@pytest.mark.slow
def test_more_contestants_of_which_one_is_better_are_told_apart() -> None:
    world = World((0.0,) * 11 + (3.0,))
    assert np.mean([world.best(race.winner) for race, _ in simulation.studies(world, STUDIES)]) > 0.9


def test_what_cannot_be_mistaken_is_not() -> None:
    """Without noise the race, the full grid and the truth agree."""
    world = World((1.0, 4.0, 2.0, -1.0), sd=1e-3, items=1e-3)
    [(race, grid)] = simulation.studies(world, 1)
    assert (race.winner, grid.winner, race.estimate.finding) == (1, 1, "helps")
    assert race.estimate.gain == pytest.approx(4.0, abs=0.01)
    assert (grid.runs, race.runs) == (4 * 8 + 5, 4 + 2 + 5)  # two left after a round, of which the worse leaves
    assert simulation.same(world, race, grid)
    assert not simulation.same(world, race, grid._replace(winner=2))
