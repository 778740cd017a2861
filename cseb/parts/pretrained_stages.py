"""Models that are trained before the method itself, on the same subset from the same start, then frozen."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from cseb.encoder.interface import FROZEN
from cseb.errors import BadSpec
from cseb.methods.option_types import Count, Positive, Size
from cseb.methods.recipe import Recipe
from cseb.methods.spec import Method, Part, part
from cseb.parts import EarlyStopping
from cseb.parts.base import BasePart
from cseb.registry import SLOTS


def shortened(method: Method, steps: int) -> Part:
    """Return the recipe of a method with other steps, and the same fraction of warm-up."""
    recipe = Recipe(**dict(method.recipe.options))  # type: ignore[arg-type]  # checked by Recipe itself
    warmup = recipe.warmup * steps // max(1, recipe.steps)
    return method.recipe.updated(part("recipe", steps=steps, warmup=warmup))


class EntropyModels(BasePart):
    """One short training per phi: the method's loss without regulators, plus phi times the entropy.

    steps: of every model at most, with the method's own batches, rates and fraction of warm-up. every, patience,
    held_out: see parts.EarlyStopping; every=1 and held_out=0 take the paper at its word. Seeds are the method's, so
    that the models differ by phi alone. Source: Tan et al. 2022, section 3.2, algorithm 1 and appendix A.
    """

    requires: ClassVar[str] = "models trained first"
    with_head = True
    # RCL, appendix A; at most an epoch of its triples, an evaluation every hundredth
    phis: tuple[float, ...] = (0.01, 0.02, 0.03, 0.04)
    steps: Count = 4_307
    every: Count = 43
    patience: Count = 3
    held_out: Size = 2_048
    temperature: Positive = 0.05
    all_columns: bool = False

    def __post_init__(self) -> None:
        if not self.phis or len(set(self.phis)) < len(self.phis):
            raise BadSpec(f"entropy_models: phis is {self.phis!r}; write different numbers, such as (0.01, 0.02)")
        self.until = EarlyStopping(self.every, self.patience, self.held_out)

    def methods(self, method: Method) -> tuple[Method, ...]:
        own = tuple(term for term in method.terms if FROZEN not in SLOTS["terms"][term.name].needs)
        options = {"temperature": self.temperature, "all_columns": self.all_columns}
        return tuple(
            replace(
                method,
                stages=None,
                terms=(*own, part("entropy", weight=phi, **options)),
                recipe=shortened(method, self.steps),
            )
            for phi in self.phis
        )


class Teacher(BasePart):
    """One training by contrast only: the method's views, batches and rates without its other terms.

    The dev set chooses its checkpoint, where there is one. steps: with the method's fraction of warm-up. temperature:
    of the contrast. with_head: its vectors are those behind the head. Source: the SimCSE checkpoints from which
    RankEncoder, DistillCSE and DCLR start, here of the same subset.
    """

    version: ClassVar[int] = 2
    requires: ClassVar[str] = "teacher trained first"
    until = None
    steps: Count = 15_625  # a SimCSE of the same subset in the place of a released checkpoint
    temperature: Positive = 0.05
    with_head: bool = False

    def methods(self, method: Method) -> tuple[Method, ...]:
        contrast = part("infonce", temperature=self.temperature, negatives="batch", form="released", hard_weight=1.0)
        recipe = shortened(method, self.steps)
        return (replace(method, stages=None, post=None, terms=(contrast,), recipe=recipe),)
