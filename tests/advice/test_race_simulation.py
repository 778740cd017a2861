"""The race and its estimate on simulated scores whose truth is known: how often is it right, and what does it cost?"""

from dataclasses import dataclass

import numpy as np
import pytest

from cseb.advice.estimate import FRESH, Estimate, estimate
from cseb.advice.race import ROUNDS, standing
from cseb.analysis.paired import Sample

CLUSTERS = 40  # of judge items
STUDIES = 1000


@dataclass(frozen=True)
class World:
    """Contestants whose true points are `truth` above an untrained encoder; seeds and items move what is measured.

    sd: of a run over seeds. items: standard error of a score over judge items, which two encoders share in part.
    """

    truth: tuple[float, ...]
    sd: float = 1.0
    items: float = 1.5

    def study(self, rng: np.random.Generator, rounds: tuple[int, ...]) -> tuple[int, Estimate, int]:
        """Who wins, what is said of the winner, and how many runs were trained."""
        count = len(self.truth)
        own, drawn = self._contributions(rng), rng.normal(size=CLUSTERS)
        # the last row is the untrained encoder, which does not move with the seed
        base = np.append(self.truth, 0.0) + own @ drawn
        active, runs, seeds = list(range(count)), 0, 0
        scores = base[:count, None] + rng.normal(0, self.sd, (count, rounds[-1])) + rng.normal(0, self.sd, rounds[-1])
        for upto in rounds:
            runs += len(active) * (upto - seeds)
            seeds = upto
            items = [[own[one]] * seeds for one in active]
            found = standing(scores[active, :seeds], items, len(rounds) * (count - 1))
            winner = active[found.order[0]]
            active = [active[place] for place in found.stay]
            if len(active) < 2:
                break
        own, drawn = self._contributions(rng), rng.normal(size=CLUSTERS)  # items that no round has seen
        base = np.append(self.truth, 0.0) + own @ drawn
        fresh = {seed: float(base[winner] + rng.normal(0, self.sd)) for seed in FRESH}
        before = Sample("mean", dict.fromkeys(FRESH, float(base[-1])), dict.fromkeys(FRESH, own[-1]))
        after = Sample("winner", fresh, dict.fromkeys(FRESH, own[winner]))
        return winner, estimate(before, after), runs + len(FRESH)

    def _contributions(self, rng: np.random.Generator) -> np.ndarray:
        """(K + 1, CLUSTERS): half of what items do to a score they do to all scores alike."""
        shared = rng.normal(size=CLUSTERS)
        alone = rng.normal(size=(len(self.truth) + 1, CLUSTERS))
        return self.items / np.sqrt(2 * CLUSTERS) * (shared + alone)


def studies(world: World, rounds: tuple[int, ...] = ROUNDS, count: int = STUDIES) -> list[tuple[int, Estimate, int]]:
    rng = np.random.default_rng(0)
    return [world.study(rng, rounds) for _ in range(count)]


SPREAD = (*np.linspace(-4, 2, 11), 3.0)  # twelve contestants, the best a point above the next


@pytest.mark.slow
@pytest.mark.parametrize("truth", [(0.0,) * 12, tuple(np.linspace(-3, 0, 12))])
@pytest.mark.parametrize("items", [0.5, 3.0])
def test_what_helps_nobody_is_said_to_help_at_most_at_the_stated_level(truth: tuple[float, ...], items: float) -> None:
    found = studies(World(truth, items=items))
    said = np.mean([one.finding == "helps" for _, one, _ in found])
    assert said <= 0.025 + 2 * np.sqrt(0.025 * 0.975 / STUDIES)  # 95 %, two-sided, and the noise of so many studies


@pytest.mark.slow
def test_the_estimate_is_not_flattered_by_having_won() -> None:
    found = studies(World((0.0,) * 12))
    gains = np.array([one.gain for _, one, _ in found])
    assert abs(gains.mean()) < 3 * gains.std() / np.sqrt(STUDIES)
    held = [one.interval.low <= 0 <= one.interval.high for _, one, _ in found if one.interval is not None]
    assert np.mean(held) > 0.93


@pytest.mark.slow
def test_a_race_loses_little_against_the_whole_grid_for_a_quarter_of_its_runs() -> None:
    world = World(SPREAD, items=0.5)
    race = studies(world)
    whole = studies(world, (8,))
    grid = 8 * len(SPREAD) + len(FRESH)
    regret = [np.mean([SPREAD[-1] - SPREAD[one] for one, _, _ in found]) for found in (race, whole)]
    assert regret[0] < regret[1] + 0.1
    assert np.mean([runs for _, _, runs in race]) < 0.3 * grid
    helped = [np.mean([one.finding == "helps" for _, one, _ in found]) for found in (race, whole)]
    assert helped[0] > helped[1] - 0.05


@pytest.mark.slow
def test_more_contestants_of_which_one_is_better_are_told_apart() -> None:
    found = studies(World((0.0,) * 11 + (3.0,), items=0.5))
    assert np.mean([one == 11 for one, _, _ in found]) > 0.9
