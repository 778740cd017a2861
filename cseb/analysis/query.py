"""The choice of records, rows and columns that a user wants to see of a results folder."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from cseb.analysis.item_scores import ItemScores
from cseb.analysis.stats import Spread
from cseb.analysis.study import Study, choose, gather
from cseb.records.record import Record, Select

Selection = Literal["best", "last", "both"]
Mark = Literal["seeds", "examples", "none"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyQuery:
    """The choice of records, rows and columns of a table. Empty means all, in their natural order.

    encoders: whether rows are encoders. methods, fractions, sizes, tasks: those to show, in this order; tasks of one
    protocol are averaged. order, seeds: those planned; a planned method without a record is shown as missing. mark:
    whether the best methods are printed in bold, for new seeds or for new seeds and examples; the latter needs
    item_scores.
    """

    select: Selection = "best"
    spread: Spread = "std"
    encoders: bool = False
    methods: tuple[str, ...] = ()
    fractions: tuple[float, ...] = ()
    sizes: tuple[int, ...] = ()
    tasks: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    seeds: tuple[int, ...] = ()
    mixed: bool = False
    mark: Mark = "none"
    item_scores: ItemScores | None = None

    def study(self, records: Iterable[Record]) -> Study:
        """Return the chosen records, sorted into cells. Raises: BadResults."""
        chosen = choose(records, self.methods, self.fractions, self.sizes)
        study = gather(chosen, self.methods or self.order, self.seeds, encoders=self.encoders, mixed=self.mixed)
        if not (self.fractions or self.sizes):
            return study
        places = {size: place for place, size in enumerate(self.sizes)} | {
            size: place
            for place, wanted in enumerate(self.fractions)
            for size, fraction in study.sizes.items()
            if abs(fraction - wanted) <= 1e-3 * wanted
        }
        return replace(study, sizes=dict(sorted(study.sizes.items(), key=lambda entry: places.get(entry[0], 0))))

    @property
    def selects(self) -> tuple[Select, ...]:
        """Return the checkpoints to show."""
        return ("best", "last") if self.select == "both" else (self.select,)
