"""How often `cseb recommend` is right, and what it costs, on simulated scores whose truth is known.

    python -m benchmarks.race_simulation

prints the figures and writes them into results/recommend/README.md. The same draws go through the race and through the
full grid: all contestants with eight seeds. Both end in an estimate on five fresh seeds and judge items that no round
has seen. No encoder is trained. Run it in the repository's root.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from benchmarks.marked import with_table
from cseb.advice.estimate import FRESH, Estimate, estimate
from cseb.advice.race import ROUNDS, standing
from cseb.analysis.paired import Sample
from cseb.reports.text_table import aligned
from cseb.statistics.paired import MARGIN

Floats = npt.NDArray[np.float64]
CLUSTERS = 40  # of judge items
STUDIES = 4000
GRID = (8,)  # rounds of the full grid: one, with eight seeds of every contestant
PAGE = Path("results") / "recommend" / "README.md"
MARKER = "simulations, by benchmarks/race_simulation.py"


class Draw(NamedTuple):
    """What a study would measure of K contestants and, in the last row, of the untrained encoder, which has no seeds.

    scores: (K + 1, 8) in the race; fresh: (K + 1, 5) afterwards. chosen, decided: (K + 1, CLUSTERS) what judge items
    contribute to either.
    """

    scores: Floats
    fresh: Floats
    chosen: Floats
    decided: Floats


class Outcome(NamedTuple):
    """Who wins, what is said of the winner, and how many runs were trained."""

    winner: int
    estimate: Estimate
    runs: int


class World(NamedTuple):
    """Contestants whose true points are `truth` above an untrained encoder; seeds and items move what is measured.

    sd: of a run over seeds; items: standard error of a score over judge items. Half of either variance is shared, by
    all runs of a seed and by all encoders.
    """

    truth: tuple[float, ...]
    sd: float = 1.0
    items: float = 0.5

    def draw(self, rng: np.random.Generator) -> Draw:
        """One study."""
        chosen, decided = self._contributions(rng), self._contributions(rng)
        return Draw(self._scores(rng, chosen, GRID[-1]), self._scores(rng, decided, len(FRESH)), chosen, decided)

    def best(self, winner: int) -> bool:
        """Whether none is truly better."""
        return self.loss(winner) == 0

    def loss(self, winner: int) -> float:
        """True points that the best contestant has above the winner."""
        return max(self.truth) - self.truth[winner]

    def _contributions(self, rng: np.random.Generator) -> Floats:
        shared, alone = rng.normal(size=CLUSTERS), rng.normal(size=(len(self.truth) + 1, CLUSTERS))
        found: Floats = self.items / np.sqrt(2 * CLUSTERS) * (shared + alone)
        return found

    def _scores(self, rng: np.random.Generator, contributions: Floats, seeds: int) -> Floats:
        base = np.append(self.truth, 0.0) + contributions @ rng.normal(size=CLUSTERS)
        noise = self.sd / np.sqrt(2) * (rng.normal(size=(len(self.truth) + 1, seeds)) + rng.normal(size=seeds))
        noise[-1] = 0.0
        scores: Floats = base[:, None] + noise
        return scores


def raced(drawn: Draw, rounds: Sequence[int] = ROUNDS) -> Outcome:
    """The rounds of `cseb recommend` and its estimate. rounds: seeds of a contestant after each."""
    count = len(drawn.scores) - 1
    active, runs, seeds = list(range(count)), 0, 0
    for upto in rounds:
        runs += len(active) * (upto - seeds)
        seeds = upto
        items = [[drawn.chosen[one]] * seeds for one in active]
        found = standing(drawn.scores[active, :seeds], items, len(rounds) * max(1, count - 1))
        winner = active[found.order[0]]
        active = [active[place] for place in found.stay]
        if len(active) < 2:
            break
    before, after = (
        Sample(name, dict(zip(FRESH, drawn.fresh[row].tolist(), strict=True)), dict.fromkeys(FRESH, drawn.decided[row]))
        for name, row in (("untrained", count), ("winner", winner))
    )
    return Outcome(winner, estimate(before, after), runs + len(FRESH))


def studies(world: World, count: int = STUDIES) -> list[tuple[Outcome, Outcome]]:
    """The race and the full grid on the same draws."""
    rng = np.random.default_rng(0)
    draws = (world.draw(rng) for _ in range(count))
    return [(raced(drawn), raced(drawn, GRID)) for drawn in draws]


def same(world: World, race: Outcome, grid: Outcome) -> bool:
    """Whether both say the same: that a method helps, and one as good within the margin, or that none is shown to."""
    if race.estimate.finding != "helps" or grid.estimate.finding != "helps":
        return race.estimate.finding == grid.estimate.finding
    return abs(world.truth[race.winner] - world.truth[grid.winner]) < MARGIN


def spread(count: int) -> tuple[float, ...]:
    """Contestants over six points, the best a point above the next, and three above the untrained encoder."""
    return (*np.linspace(-4, 2, count - 1).tolist(), 3.0)


WORLDS: Mapping[str, World] = {
    "spread over 7 points, best +3": World(spread(12)),
    "6 contestants": World(spread(6)),
    "24 contestants": World(spread(24)),
    "noisier judge": World(spread(12), items=1.5),
    "noisier seeds": World(spread(12), sd=2.0),
    "one +3, eleven 0": World((*[0.0] * 11, 3.0)),
    "one +1, eleven 0": World((*[0.0] * 11, 1.0)),
    "nothing helps: all 0": World((0.0,) * 12),
    "nothing helps: all 0, noisier judge": World((0.0,) * 12, items=3.0),
    "nothing helps: all 0, noisier seeds": World((0.0,) * 12, sd=2.0),
    "nothing helps: -3 to 0": World(tuple(np.linspace(-3, 0, 12).tolist())),
}


def row(name: str, world: World, count: int = STUDIES) -> tuple[str, ...]:
    """Race / full grid: runs, named the best, points lost, said to help; and how often both say the same."""
    found = studies(world, count)

    def both(figure: str, of: list[tuple[float, float]]) -> str:
        return " / ".join(format(float(mean), figure) for mean in np.mean(of, axis=0))

    runs = np.mean([(a.runs, b.runs) for a, b in found], axis=0)
    return (
        name,
        f"{runs[0]:.0f} / {runs[1]:.0f}",
        f"{runs[0] / runs[1]:.0%}",
        both(".0%", [(world.best(a.winner), world.best(b.winner)) for a, b in found]),
        both(".2f", [(world.loss(a.winner), world.loss(b.winner)) for a, b in found]),
        both(".1%", [(a.estimate.finding == "helps", b.estimate.finding == "helps") for a, b in found]),
        f"{np.mean([same(world, a, b) for a, b in found]):.0%}",
    )


HEADS = ("truth", "runs", "cost", "best named", "points lost", "said to help", "same verdict")


def main() -> None:
    """Simulate, print, and write the page."""
    lines = "\n".join(aligned([row(name, world) for name, world in WORLDS.items()], HEADS))
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8"), MARKER, f"\n```\n{lines}\n```\n"), encoding="utf-8")
    print(lines)


if __name__ == "__main__":
    main()
