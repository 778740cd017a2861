"""A recommendation in one sentence, and the table behind it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from cseb.advice.estimate import Estimate
from cseb.advice.judges import Judge
from cseb.advice.look import Look
from cseb.analysis.learning_curve import times_as_many
from cseb.reports.text_table import aligned
from cseb.statistics.paired import MARGIN
from cseb.text import duration, quantity


@dataclass(frozen=True, slots=True)
class Row:
    """A method in the table. choose: mean points in the race, decide: of fresh seeds and unseen items; None if not run.

    fate: what became of it.
    """

    method: str
    seeds: int
    choose: float | None
    decide: float | None
    fate: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommendation:
    """What came out.

    winner: of the race, "" if it ended before anybody led. baseline: the best of what is not trained, by the race's
    items. estimate: the winner against it. curve: the winner at `sizes` sentences against a tenth of them. trust: what
    is known of a judge without labels, "" for human ones. words: points on what decides of TF-IDF and of static
    vectors. seconds: of training and scoring, earlier calls included; training: of one model. cut: why the race ended
    before its last round, or "".
    """

    look: Look
    judge: Judge
    rows: tuple[Row, ...]
    winner: str
    baseline: str
    estimate: Estimate | None
    curve: Estimate | None
    sizes: tuple[int, int]
    words: Mapping[str, float]
    seconds: float
    training: float
    trust: str = ""
    answered: str = ""  # how many answers of the user count, "" where none were asked
    cut: str = ""
    stopped: bool = False
    unfit: Mapping[str, str] = field(default_factory=dict)
    broken: Mapping[str, str] = field(default_factory=dict)

    @property
    def chosen(self) -> str:
        """The method to use: the winner where it is shown to be better, or likely to be so by more than the margin.

        Else the untrained baseline, which costs nothing and cannot do harm.
        """
        if self.estimate is None or not self.winner:
            return self.baseline
        likely = self.estimate.finding == "unclear" and self.estimate.gain > MARGIN
        better = self.estimate.finding == "helps" or likely
        return self.winner if better else self.baseline

    def verdict(self) -> str:
        """One sentence, with what is known of the amount of text behind it."""
        return "; ".join(filter(None, (self._finding(), self._curve())))

    def _finding(self) -> str:
        untrained = f"the untrained {self.baseline}"
        if not self.winner:
            end = "stopped" if self.stopped else "the budget ended"
            return f"{end} before any method had finished a round: no verdict yet; the same command goes on"
        if self.estimate is None:
            return (
                f"no verdict yet: {self.winner} leads the race by the seeds and items that chose it, which flatters "
                "it; the same command goes on"
            )
        gain, by = str(self.estimate), f"by {self.judge.by}"
        if self.judge.name:
            by += ", in points of this judge alone"
        over = f"over {quantity(self.estimate.seeds, 'fresh seed')}"
        match self.estimate.finding:
            case "helps":
                return f"{self.winner}: {gain} over {untrained} {by}, {over}; {duration(self.training)} of training"
            case "harms":
                return f"keep {untrained}: the best method, {self.winner}, has {gain} against it {by}, {over}"
            case "equal":
                return (
                    f"keep {untrained}: nothing beats it by more than {MARGIN:g} {by}; the best method, {self.winner}, "
                    f"has {gain}, {over}"
                )
        least = ""
        if (found := self.estimate.interval) is not None:
            least = f"; less than some {(found.high - found.low) / 2:.1f} points cannot be seen"
        return (
            f"cannot tell whether {self.winner} is better than {untrained}: {gain} {by}, {over}{least}: "
            "rate more pairs (--ask, --judge) or take a larger --budget"
        )

    def _curve(self) -> str:
        few, many = self.sizes
        if self.curve is None:
            return ""
        return f"{times_as_many(few, many)} brought {self.curve}, and what more than {many:,} bring was not measured"

    def table(self) -> str:
        """Methods, the best first, and what each line means."""
        shown: list[tuple[str, ...]] = [("method", "seeds", "race", "fresh", "")]
        for row in self.rows:
            points = ["--" if one is None else f"{one:.2f}" for one in (row.choose, row.decide)]
            shown.append((row.method, str(row.seeds), *points, row.fate))
        lines = [*aligned(shown), ""]
        race = "the same items" if self.judge.same_items and not self.answered else "items that the race has not seen"
        lines.append(f"race: mean points that choose; fresh: fresh seeds on {race}, which alone decide.")
        if self.words:
            held = ", ".join(f"{name} {points:.2f}" for name, points in self.words.items())
            lines.append(f"Without layers, on what decides: {held}.")
        if self.answered:
            lines.append(f"{self.answered}.")
        if self.trust:
            lines.append(f"The judge has no human labels; measured for other texts: {self.trust}.")
        lines += [f"left out: {method}: {why}" for method, why in {**self.unfit, **self.broken}.items()]
        lines.append(f"{duration(self.seconds)} of training and scoring{f'; {self.cut}' if self.cut else ''}.")
        return "\n".join(lines)
