"""The steps of a recommendation, one after the other: what is run, what it costs, and what may be said at the end."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import fmean

import numpy as np

from cseb.advice.budget import Budget
from cseb.advice.candidates import UNTRAINED, fitting
from cseb.advice.estimate import FRESH, Estimate, estimate
from cseb.advice.judges import Judge, trained_for
from cseb.advice.look import Look
from cseb.advice.questions import PARTS, Answers, Part, draw
from cseb.advice.race import ROUNDS, standing
from cseb.advice.runs import Runs
from cseb.advice.verdict import Recommendation, Row
from cseb.advice.word_baselines import word_baselines
from cseb.analysis.learning_curve import FEWEST as FEWEST_SEEDS
from cseb.analysis.paired import Sample
from cseb.errors import BadBenchmark
from cseb.experiment.export import refuse_unsaved
from cseb.experiment.grid import Grid
from cseb.text import duration, quantity

TENTH = 10  # how many times fewer sentences the learning curve begins with
FEWEST = 64  # sentences of that beginning: two batches


def beginning(size: int) -> int:
    """Sentences that the learning curve of so many begins with; 0 where there are too few for one."""
    return few if (few := size // TENTH) >= FEWEST else 0


Say = Callable[[str], None]
Pairs = Sequence[tuple[str, str]]
Asker = Callable[[Answers, Pairs], None]  # asks what has no answer yet; raises KeyboardInterrupt if the user stops


@dataclass(slots=True)
class Advice:
    """A recommendation in the making.

    methods: that race, as typed. size: sentences to train on, few: those that the learning curve begins with, 0 for
    none. ask: how many questions the user answers after the first round, asker: who asks them; 0 where the judge needs
    no answers.
    """

    runs: Runs
    look: Look
    judge: Judge
    methods: Sequence[str]
    size: int
    few: int
    budget: Budget
    say: Say
    trust: str = ""
    ask: int = 0
    asker: Asker | None = None
    answers: Answers | None = None
    unfit: dict[str, str] = field(default_factory=dict)
    fates: dict[str, str] = field(default_factory=dict)
    seeds: int = 0  # of the race so far
    winner: str = ""
    cut: str = ""
    words: dict[str, float] = field(default_factory=dict)  # points without training, see `word_baselines`

    def fit(self, named: bool, saved: bool = False) -> None:
        """Leave out methods that do not fit the encoder, and those that train for the very judge.

        named: the user has named them, and wants to know. saved: the model of the winner is asked for. Raises:
        BadBenchmark if none is left, or one that was named does not fit; BadResults if what one of them trains could
        not be saved.
        """
        grid = self.runs.grid(self.methods, [0], [self.size])
        alike = {
            job.label: f"{part} trains for what this judge asks, so that others have to race it"
            for job in grid.jobs
            if (part := trained_for(self.judge.name, job.method))
        }
        if len(alike) == len({job.label for job in grid.jobs}):
            label, why = next(iter(alike.items()))
            raise BadBenchmark(f"{label}: {why}: give --judge FILE, --tasks NAMES or --ask 60")
        fit, unfit = fitting([job for job in grid.jobs if job.label not in alike])
        if unfit and (named or not fit):
            label, why = next(iter(unfit.items()))
            raise BadBenchmark(f"{label} does not fit {self.runs.encoder}: {why}")
        for job in grid.jobs if saved else ():
            refuse_unsaved(job)
        self.methods, self.unfit = fit, {**unfit, **alike}

    def outlook(self) -> tuple[float | None, float | None]:
        """Seconds that the first round takes, and those of a whole race with its estimate; None if nobody knows."""
        first = self.runs.expected(self.runs.grid([*UNTRAINED, *self.methods], range(ROUNDS[0]), [self.size]))
        if first is None:
            return None, None
        job = self.budget.longest(self.methods)
        more, count, before = 0.0, len(self.methods), ROUNDS[0]
        for seeds in ROUNDS[1:]:
            count = max(2, (count + 1) // 2)
            more += count * (seeds - before) * job / self.runs.workers
            before = seeds
        return first, first + more + self.budget.after_race(self.methods, curve=True)

    def run(self) -> None:
        """The race and the estimate; whatever is done has a record, and the same call goes on.

        Raises: BadBenchmark if the budget has no room for a first round, KeyboardInterrupt.
        """
        first, _ = self.outlook()
        least = (first or 0.0) + self.budget.after_race(self.methods)
        if first is not None and least > self.budget.left and not self.runs.made:
            raise BadBenchmark(
                f"--budget of {duration(self.budget.seconds)} is too short: a first round of "
                f"{quantity(len(self.methods), 'method')} and an estimate take about "
                f"{duration(least)}; take --budget {1.2 * least / 60 + 0.5:.0f}, fewer "
                "--methods or fewer --steps"
            )
        if not self.ask:
            runs = self.runs
            self.words = word_baselines(self.judge.decide, runs.data_dir, runs.encoder, runs.device)
        self._race()
        if self.winner:
            self._settle()

    def _race(self) -> None:
        """Rounds of more seeds, until one is left, the rounds are over or the time is up."""
        active = list(self.methods)
        tests = len(ROUNDS) * max(1, len(active) - 1)
        for number, seeds in enumerate(ROUNDS, 1):
            if number > 1 and len(active := self._room(number, active, seeds)) < 2:
                return
            grid = self._round(number, active, seeds)
            whole = self.runs.run(grid, self.budget.deadline, lambda: self.budget.after_race(self._leaders))
            if self.ask and number == 1:
                self._ask()
            active = self._after(number, active, seeds, tests)
            if not whole:
                self.cut = f"the budget ended in round {number}"
                return
            if len(active) < 2:
                return

    def _round(self, number: int, methods: Sequence[str], seeds: int) -> Grid:
        """The jobs that give these methods so many seeds; the first round scores what is not trained, too."""
        untrained = UNTRAINED if number == 1 else ()
        return self.runs.grid([*untrained, *methods], range(self.seeds, seeds), [self.size])

    def _room(self, number: int, active: Sequence[str], seeds: int) -> list[str]:
        """As many of the best as a further round has time for; what does not go on is said."""
        left = self.budget.left - self.budget.after_race(self._leaders, curve=True)
        for count in range(len(active), 1, -1):
            takes = self.runs.expected(self._round(number, active[:count], seeds)) or 0.0
            if not takes or takes <= left:
                for label in active[count:]:
                    self.fates[label] = f"no time for round {number}"
                return list(active[:count])
        self.cut = f"the budget had no room for round {number}, which takes about {duration(takes)} or more"
        return []

    def _ask(self) -> None:
        """Have the user answer what contestants of the first round disagree on; the clock stands still meanwhile."""
        began, folder = time.monotonic(), self.runs.store.folder
        pairs = self.runs.pairs(self.judge.choose)
        self.answers = Answers.read(folder, len(pairs))
        if self.answers is None:
            items = self.runs.items([*UNTRAINED, *self.methods], [0], self.size, self.judge.choose)
            cosines = {method: each[0] for method, each in items.items()}
            self.answers = Answers.new(folder, draw(cosines, self.ask))
        if self.answers.next is not None and self.asker is not None:
            self.asker(self.answers, pairs)
        self.budget.started += time.monotonic() - began

    def _after(self, number: int, active: list[str], seeds: int, tests: int) -> list[str]:
        """Who goes on after a round; says who leads and who leaves."""
        samples = self._samples(active, range(seeds), "choose")
        for label in [one for one in active if one not in samples]:
            self.fates[label] = self.runs.broken.get(label, "failed or collapsed, or was not reached")
        shared = sorted(set.intersection(*(set(one.points) for one in samples.values()))) if samples else []
        if not shared:
            return []
        self.seeds = seeds
        labels = list(samples)
        scores = np.array([[samples[label].points[seed] for seed in shared] for label in labels])
        whole = all(seed in samples[label].contributions for label in labels for seed in shared)
        items = [[samples[label].contributions[seed] for seed in shared] for label in labels] if whole else None
        found = standing(scores, items, tests)
        self.winner = labels[found.order[0]]
        for place in found.worse:
            self.fates[labels[place]] = f"worse than the leader, round {number}"
        for place in found.halved:
            self.fates[labels[place]] = f"lower half, round {number}"
        stay = [labels[place] for place in found.stay]
        points = float(scores[found.order[0]].mean())
        self.say(
            f"round {number}: {quantity(len(labels), 'method')}, {quantity(len(shared), 'seed')}; {self.winner} leads "
            f"with {points:.2f}; {len(found.worse)} left as worse, {len(found.halved)} in the lower half"
        )
        return stay

    def _settle(self) -> None:
        """Fresh seeds for the winner and the untrained baseline, then the winner at a tenth of the sentences."""
        pair = [self.baseline, self.winner]
        self.say(f"estimate: {self.winner} against the untrained {self.baseline}, {quantity(len(FRESH), 'fresh seed')}")
        grids = {"the estimate": self.runs.grid(pair, FRESH, [self.size])}
        if self.few:
            grids["the learning curve"] = self.runs.grid([self.winner], FRESH, [self.few])
        for what, grid in grids.items():
            if not self.runs.run(grid, self.budget.deadline, lambda: self.budget.model(self._leaders)):
                self.cut = f"the budget ended in {what}"
                return

    @property
    def _leaders(self) -> Sequence[str]:
        """Who may win as far as is known: the leader, and before anybody leads, all."""
        return [self.winner] if self.winner else self.methods

    @property
    def baseline(self) -> str:
        """The best of what is not trained, by the items of the race."""
        samples = self._samples(UNTRAINED, range(ROUNDS[-1]), "choose")
        return max(samples, key=lambda label: samples[label].mean) if samples else UNTRAINED[0]

    def _samples(self, methods: Sequence[str], seeds: Sequence[int], part: Part, size: int = 0) -> dict[str, Sample]:
        """Points of methods on the part of the judge that chooses, or the one that decides."""
        tasks = self.judge.choose if part == "choose" else self.judge.decide
        if not self.ask:
            return self.runs.samples(methods, seeds, size or self.size, tasks)
        if self.answers is None:
            return {}
        items = self.runs.items(methods, seeds, size or self.size, tasks)
        found = {method: self.answers.sample(method, each, part) for method, each in items.items()}
        return {method: sample for method, sample in found.items() if sample is not None}

    def found(self, stopped: bool = False) -> Recommendation:
        """What can be said now, from the records that there are."""
        labels = [*UNTRAINED, *self.methods]
        race = self._samples(labels, range(ROUNDS[-1]), "choose")
        pair = [self.baseline, self.winner] if self.winner else []
        fresh = self._samples(pair, FRESH, "decide")
        result: Estimate | None = None
        if len(fresh) == 2 and set(fresh[pair[0]].points) & set(fresh[pair[1]].points):
            result = estimate(fresh[pair[0]], fresh[pair[1]])
        curve: Estimate | None = None
        if result is not None and self.few:
            at_few = self._samples([self.winner], FRESH, "decide", self.few).get(self.winner)
            if at_few is not None and len(set(at_few.points) & set(fresh[self.winner].points)) >= FEWEST_SEEDS:
                curve = estimate(at_few, fresh[self.winner])
        rows = [
            Row(
                label,
                len(race[label].points) if label in race else 0,
                race[label].mean if label in race else None,
                fresh[label].mean if label in fresh else None,
                "untrained" if label in UNTRAINED else self._fate(label),
            )
            for label in labels
        ]
        rows.sort(key=lambda row: (-row.seeds if row.fate not in ("untrained",) else -ROUNDS[-1], -(row.choose or 0.0)))
        trained = [r.cost.train_seconds for r in self.runs.made.values() if r.method == self.winner]
        return Recommendation(
            look=self.look,
            judge=self.judge,
            rows=tuple(rows),
            winner=self.winner,
            baseline=self.baseline,
            estimate=result,
            curve=curve,
            sizes=(self.few, self.size),
            words=self.words,
            answered=self._answered(),
            seconds=sum(record.cost.seconds for record in self.runs.made.values()),
            training=fmean(trained) if trained else 0.0,
            trust=self.trust,
            cut=self.cut,
            stopped=stopped,
            unfit=self.unfit,
            broken=self.runs.broken,
        )

    def _answered(self) -> str:
        """How many answers count, and how consistent they are."""
        if self.answers is None:
            return ""
        alike, twice = self.answers.consistent()
        count = sum(len(self.answers.counted(part)) for part in PARTS)
        return f"{quantity(count, 'answer')}; {alike} of {quantity(twice, 'repeated question')} answered alike"

    def _fate(self, label: str) -> str:
        return "winner of the race" if label == self.winner else self.fates.get(label, "not worse so far")
