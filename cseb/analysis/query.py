"""What a user wants to see of a folder of records."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from typing import Literal

from cseb.analysis.stats import Spread
from cseb.analysis.study import Study, choose, gather
from cseb.records.record import Record, Select

Selection = Literal["best", "last", "both"]


By = Literal["method", "encoder", "fraction", "task"]


# Methods of a study that are the best, or not significantly different from it, on the average over these tasks at
# this size and checkpoint. A largest mean alone says nothing.
Best = Callable[[Study, int, tuple[str, ...], Select], Collection[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyQuery:
    """What a user wants to see of a folder of records. Empty means all there is, in its natural order.

    order and seeds: those planned (a planned method without a record is shown as missing). methods, fractions, sizes
    and tasks: those to show, in this order; tasks of one protocol are averaged. best: what marks cells, see `Best`;
    claim: what a mark says.
    """

    select: Selection = "best"
    spread: Spread = "std"
    by: By = "method"
    methods: tuple[str, ...] = ()
    fractions: tuple[float, ...] = ()
    sizes: tuple[int, ...] = ()
    tasks: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    seeds: tuple[int, ...] = ()
    mixed: bool = False
    best: Best | None = None
    claim: str = ""

    def study(self, records: Iterable[Record]) -> Study:
        """The records asked for, sorted into cells. Raises: BadResults."""
        chosen = choose(records, self.methods, self.fractions, self.sizes)
        study = gather(chosen, self.methods or self.order, self.seeds, encoders=self.by == "encoder", mixed=self.mixed)
        if not (self.fractions or self.sizes):
            return study
        typed = {size: place for place, size in enumerate(self.sizes)} | {
            size: place
            for place, wanted in enumerate(self.fractions)
            for size, fraction in study.sizes.items()
            if abs(fraction - wanted) <= 1e-3 * wanted
        }
        return replace(study, sizes=dict(sorted(study.sizes.items(), key=lambda one: typed.get(one[0], 0))))

    @property
    def selects(self) -> tuple[Select, ...]:
        """The checkpoints to show."""
        return ("best", "last") if self.select == "both" else (self.select,)
