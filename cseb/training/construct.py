"""Construct the parts of a resolved method, once, from the options that it states."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from torch import nn

from cseb.encoder.interface import Post, Shape
from cseb.encoder.loading import shape_of
from cseb.encoder.random_streams import new_weights
from cseb.errors import BadSpec, first_line, memory_ran_out, number
from cseb.methods.part_facts import facts, slot_of
from cseb.methods.recipe import Recipe
from cseb.methods.spec import Method, Part
from cseb.parts import Composer, Memory, Mixer, Network, Outside, Regulariser, Stages, Term, Tuning, View, Wrapper
from cseb.parts.base import check_needs
from cseb.registry import SLOTS
from cseb.seeds import INIT, VIEWS, distinct, stream_seed


@dataclass(frozen=True, slots=True)
class Weighted:
    """A term and its factor in the loss."""

    name: str
    weight: float
    term: Term


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The constructed parts of a method; the encoder is not loaded yet. `method` has their names and options."""

    method: Method
    recipe: Recipe
    shape: Shape
    views: View
    pooler: Any
    head: Any
    terms: tuple[Weighted, ...]
    compose: Composer | None
    regulariser: Regulariser | None
    memory: Memory | None
    stages: Stages | None
    network: Network | None
    tuning: Tuning | None
    wrapper: Wrapper | None
    mixer: Mixer | None
    post: Post | None

    @property
    def needs(self) -> frozenset[str]:
        """Return the costly outputs of the backbone that terms and network read."""
        needs = frozenset[str]().union(*(weighted.term.needs for weighted in self.terms))
        return needs | (self.network.needs if self.network else frozenset())

    @property
    def outside(self) -> Outside | None:
        """Return the teacher that is not trained here."""
        return self.stages if isinstance(self.stages, Outside) else None

    @property
    def frozen_head(self) -> bool:
        """Return whether vectors of the frozen teachers are those after their heads."""
        return self.stages is None or self.stages.with_head

    @property
    def first_models(self) -> tuple[Method, ...]:
        """Return the methods that the first stage trains before this one."""
        if self.stages is None or not self.recipe.steps:
            return ()
        return tuple(replace(model, mixer=None) for model in self.stages.methods(self.method))


def construct(method: Method, folder: Path, seed: int = 0, trust_remote_code: bool = False) -> Parts:
    """Return the parts of a resolved method, each with new weights from its random stream. Raises: BadSpec, BadData."""
    recipe: Recipe = instantiate(method.recipe, None)
    shape = shape_of(folder, recipe.dropout, trust_remote_code)
    terms = tuple(
        _term(part, shape, recipe.steps, seed, name)
        for name, part in zip(distinct(part.name for part in method.terms), method.terms, strict=True)
    )
    needs = frozenset[str]().union(*(weighted.term.needs for weighted in terms))
    # Where nothing is trained, texts are read only by what is fitted afterwards.
    reads = recipe.steps > 0 or facts(method.views.name).columns
    views = instantiate(method.views, shape, seed, needs=needs) if reads else _NoViews()
    single = ("pooler", "head", "regulariser", "memory", "stages", "network", "tuning", "wrapper", "mixer", "post")
    slots = (*single, "compose") if recipe.steps else single
    parts = {slot: instantiate(part, shape, seed) for slot in slots if (part := getattr(method, slot)) is not None}
    return Parts(
        method=method,
        recipe=recipe,
        shape=shape,
        views=views,
        terms=terms,
        **dict.fromkeys((*single, "compose")) | parts,
    )


def instantiate(
    part: Part,
    shape: Shape | None,
    seed: int = 0,
    *,
    name: str = "",
    needs: frozenset[str] = frozenset(),
    steps: int = 0,
) -> Any:
    """Return the object that a part names, its weights from the random stream `name`, by default the part's own name.

    A constructor may ask by name for `shape`, `run_steps` and `run_seed`, and that of a view maker for `needs`, what
    the terms read of the encoder. Raises: BadSpec.
    """
    slot, name = slot_of(part.name), name or part.name
    constructor = SLOTS[slot][part.name]
    options = dict(part.options)
    facts(part.name).check(options)
    stream = VIEWS if slot == "views" else INIT
    offered = {"shape": shape, "needs": needs, "run_steps": steps, "run_seed": stream_seed(seed, f"{stream}/{name}")}
    plain = constructor.__init__ is object.__init__ or constructor.__init__ is nn.Module.__init__
    parameters = {} if plain else inspect.signature(constructor).parameters
    check_needs(slot, part.name, constructor, shape)  # before the constructor, which may fail on what is lacking
    try:
        with new_weights(seed, name):
            instance = constructor(**options, **{key: offered[key] for key in offered if key in parameters})
    except (TypeError, ValueError, OverflowError) as error:
        raise BadSpec(f"{part} cannot be built: {first_line(error)}") from error
    except (MemoryError, RuntimeError) as error:
        if not memory_ran_out(error):
            raise
        raise BadSpec(f"{part} needs more memory than there is; choose smaller sizes") from error
    check_needs(slot, part.name, instance, shape)
    return instance


def groups(views: View) -> tuple[int, ...]:
    """Return how many renderings in turn make one view; () if each is one."""
    return getattr(views, "groups", ())


def _term(part: Part, shape: Shape, steps: int, seed: int, name: str) -> Weighted:
    options = dict(part.options)
    weight = number(options.pop("weight", 1.0), f"{part.name}: weight")
    term = instantiate(Part(part.name, tuple(options.items())), shape, seed, name=name, steps=steps)
    return Weighted(part.name, weight, term)


class _NoViews:
    """The view maker where nothing is trained and no text is read."""

    views = 1

    def __call__(self, sentences: Sequence[str]) -> tuple[Sequence[str], ...]:
        return (sentences,)
