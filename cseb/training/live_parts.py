"""Live parts from those a method names: looked up, options checked, weights drawn from a stream of their own."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from torch import nn

from cseb.encoder.interface import Shape
from cseb.encoder.random_streams import new_weights
from cseb.errors import BadSpec, first_line, number
from cseb.methods.part_facts import facts
from cseb.methods.spec import Part
from cseb.parts import Term, View
from cseb.parts.contract_checks import kept, served
from cseb.registry import SLOTS, slot_of
from cseb.seeds import Seed

Made = TypeVar("Made")


@dataclass(frozen=True, slots=True)
class Weighted:
    """A term and its factor in the loss."""

    name: str
    weight: float
    term: Term


def live(part: Part, shape: Shape | None, needs: frozenset[str] = frozenset(), steps: int = 0, seed: int = 0) -> Any:
    """The object a part names, built from its options, and from what its constructor asks for by name.

    It may ask for `shape`; a view maker for `needs`, what the terms want of the encoder; a term for `run_steps`; what
    is fitted after training for `run_seed`.
    """
    slot = slot_of(part.name)
    made = SLOTS[slot][part.name]
    options = dict(part.options)
    facts(part.name).check(options)
    offered = {"shape": shape, "needs": needs, "run_steps": steps, "run_seed": seed}
    plain = made.__init__ is object.__init__ or made.__init__ is nn.Module.__init__
    wanted = {} if plain else inspect.signature(made).parameters
    served(slot, part.name, made, shape)  # before the constructor, which may stumble over what is not there
    try:
        found = made(**options, **{name: offered[name] for name in offered if name in wanted})
    except (TypeError, ValueError, OverflowError) as error:
        raise BadSpec(f"{part} cannot be built: {first_line(error)}") from error
    kept(slot, part.name, found)
    served(slot, part.name, found, shape)
    return found


def live_term(part: Part, shape: Shape, steps: int) -> Weighted:
    """A live term and its factor. Raises: BadSpec."""
    options = dict(part.options)
    weight = number(options.pop("weight", 1.0), f"{part.name}: weight")
    return Weighted(part.name, weight, live(Part(part.name, tuple(options.items())), shape, steps=steps))


def new(seed: Seed, name: str, make: Callable[[], Made]) -> Made:
    """What `make` makes, its weights from the stream of its own."""
    with new_weights(seed, name):
        return make()


def groups(views: View) -> tuple[int, ...]:
    """How many renderings in turn make one view; () if each is one."""
    return getattr(views, "groups", ())
