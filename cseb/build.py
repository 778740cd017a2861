"""A settled spec made into live objects: parts looked up, options checked, weights attached."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import nn

from cseb import pretrained
from cseb.encoder import Encoder
from cseb.errors import BadSpec, did_you_mean, number
from cseb.parts import (
    FROZEN,
    Composer,
    Founded,
    Memory,
    Network,
    Paired,
    Post,
    Redrawn,
    Regulariser,
    Shape,
    Stages,
    Term,
    Until,
    View,
)
from cseb.recipe import Recipe
from cseb.registry import SLOTS, slot_of
from cseb.spec import Method, Part
from cseb.streams import INIT, Seed, stream_seed


@dataclass(frozen=True, slots=True)
class Weighted:
    """A term and its factor in the loss."""

    name: str
    weight: float
    term: Term


@dataclass(frozen=True, slots=True)
class Built:
    """A method ready to train: every part live, nothing trained yet."""

    recipe: Recipe
    encoder: Encoder
    views: View
    terms: tuple[Weighted, ...]
    memory: Memory | None
    notes: tuple[str, ...]
    compose: Composer | None = None
    stages: tuple[Callable[[], Built], ...] = ()  # what is trained first, made when its turn comes
    second: Encoder | None = None  # encodes every view but the first, trained as well
    peer: Encoder | None = None  # encodes every view too, and is compared with the encoder
    until: Until | None = None  # when it ends before its last step
    frozen_head: bool = True  # vectors of the first stages are those behind their heads


def check(method: Method, folder: Path, trust_remote_code: bool = False, sentences: int | None = None) -> None:
    """Build every part of a settled method against this encoder's small files. Raises: BadSpec, BadData.

    sentences: how many the subset has, where that is known.
    """
    recipe: Recipe = _live(method.recipe, None)
    shape = pretrained.shape_of(folder, recipe.dropout, trust_remote_code)
    with torch.random.fork_rng():
        _, _, _, memory, terms, _ = _parts(method, recipe, shape)
        stages, _ = _stages(method, shape, terms)
        for stage in stages:
            _parts(stage, _live(stage.recipe, None), shape)
    post: Post | None = None if method.post is None else _live(method.post, shape)
    for part in (memory, post):
        if part is not None and sentences is not None:
            part.fits(sentences)


def build(method: Method, folder: Path, seed: Seed, trust_remote_code: bool = False) -> Built:
    """Load the encoder and attach every part; new weights come from the seed's own stream. Raises: BadSpec, BadData."""
    recipe: Recipe = _live(method.recipe, None)
    shape = pretrained.shape_of(folder, recipe.dropout, trust_remote_code)
    with torch.random.fork_rng():
        torch.manual_seed(stream_seed(seed, INIT))
        views, pooler, head, memory, terms, compose = _parts(method, recipe, shape)
        network: Network | None = None if method.network is None else _live(method.network, shape)
        needs = frozenset[str]().union(*(weighted.term.needs for weighted in terms), network.needs if network else ())
        encoder, notes = pretrained.load(folder, pooler, head, needs, recipe.dropout, trust_remote_code)
        for weighted in terms:
            if isinstance(weighted.term, Founded):
                weighted.term.found(encoder)
        encoder.post = None if method.post is None else _live(method.post, shape, seed=stream_seed(seed, INIT))
    if method.regulariser is not None:
        regulariser: Regulariser = _live(method.regulariser, shape)
        regulariser.attach(encoder.attentions())
    methods, until = _stages(method, shape, terms)
    stages = tuple(partial(_staged, stage, folder, seed, trust_remote_code, until) for stage in methods)
    further = None if network is None else network(encoder)
    second, peer = (None, further) if network is not None and network.peer else (further, None)
    with_head = method.stages is None or _live(method.stages, shape).with_head
    return Built(
        recipe, encoder, views, terms, memory, tuple(notes), compose, stages, second, peer, frozen_head=with_head
    )


def _staged(method: Method, folder: Path, seed: Seed, trust_remote_code: bool, until: Until | None) -> Built:
    return replace(build(method, folder, seed, trust_remote_code), until=until)


def _parts(
    method: Method, recipe: Recipe, shape: Shape
) -> tuple[View, Any, Any, Memory | None, tuple[Weighted, ...], Composer | None]:
    trained = recipe.steps > 0
    if trained and not method.terms:
        raise BadSpec(f"{method.name} has no term left to train with; add one, or recipe(steps=0)")
    if recipe.warmup > recipe.steps:
        raise BadSpec(f"recipe: warmup is {recipe.warmup} of {recipe.steps} steps; it may take all of them at most")
    memory = None if method.memory is None else _live(method.memory, shape)
    terms = tuple(_weighted(part, shape, recipe.steps) for part in method.terms)
    needs = frozenset[str]().union(*(weighted.term.needs for weighted in terms))
    views = _live(method.views, shape, needs) if trained else _NoViews()
    pooler, head = _live(method.pooler, shape), _live(method.head, shape)
    compose: Composer | None = None if method.compose is None or not trained else _live(method.compose, shape)
    if compose is not None:
        compose.check(groups(views), [weighted.term for weighted in terms], memory is not None)
        if method.network is not None:
            raise BadSpec(f"{method.network.name} encodes whole sentences, not parts of them; take compose out")
    elif groups(views):
        raise BadSpec(f"{method.views.name} gives parts of sentences, and nothing puts them together; add +compose")
    if trained:
        _compare(terms, len(groups(views)) or views.views, method.views.name)
    if method.regulariser is not None:
        _live(method.regulariser, shape)
    network: Network | None = None if method.network is None else _live(method.network, shape)
    if trained:
        _fit(method, views, terms, network)
    return views, pooler, head, memory, terms, compose


def _fit(method: Method, views: View, terms: Sequence[Weighted], network: Network | None) -> None:
    """Raises: BadSpec if a term looks at what this method does not have."""
    peer = network is not None and network.peer
    for weighted in terms:
        if (needed := getattr(weighted.term, "edits", 0)) > (there := getattr(views, "edits", 0)):
            raise BadSpec(f"{weighted.name} looks at {needed} edited views; {method.views.name} gives {there}")
        if getattr(weighted.term, "networks", 1) > 1 and not peer:
            raise BadSpec(f"{weighted.name} compares two networks, and there is one; add +peer_encoder")
        if peer and isinstance(weighted.term, Founded):
            raise BadSpec(f"{weighted.name} keeps what it knows of one network; take it or the second network out")
    if method.regulariser is not None and hasattr(views, "renderings"):
        raise BadSpec(f"{method.views.name} settles the noise of its views; take {method.regulariser.name} out")
    if peer and method.memory is not None:
        raise BadSpec(f"{method.memory.name} holds vectors of one network; take it or the second network out")


def _stages(method: Method, shape: Shape, terms: Sequence[Weighted]) -> tuple[tuple[Method, ...], Until | None]:
    """The methods to train first, and until when. Raises: BadSpec if nobody looks at them, or somebody misses them."""
    looking = [weighted.name for weighted in terms if FROZEN in weighted.term.needs]
    if method.stages is None:
        if looking:
            raise BadSpec(f"{looking[0]}: there are no models to look at; add +entropy_models or +teacher")
        return (), None
    if not looking:
        raise BadSpec(
            f"{method.stages.name}: no term looks at these models; add one such as +regulators, or take them out"
        )
    if method.compose is not None:
        raise BadSpec(
            f"{method.stages.name}: frozen models embed whole sentences, not parts; take compose and halves out"
        )
    if isinstance(_live(method.views, shape), Redrawn | Paired):
        raise BadSpec(f"{method.stages.name}: frozen models embed views once, {method.views.name} draws them anew")
    stages: Stages = _live(method.stages, shape)
    return (stages.methods(method), stages.until) if dict(method.recipe.options)["steps"] else ((), None)


def _compare(terms: Sequence[Weighted], views: int, maker: str) -> None:
    """Raises: BadSpec if a term compares more views than there are."""
    for weighted in terms:
        if (needed := getattr(weighted.term, "views", 1)) > views:
            raise BadSpec(f"{weighted.name} compares {needed} views of a sentence; {maker} gives {views}")


def groups(views: View) -> tuple[int, ...]:
    """How many renderings in turn make one view; () if each is one."""
    return getattr(views, "groups", ())


class _NoViews:
    """Stands where nothing is trained."""

    views = 1

    def __call__(self, sentences: Sequence[str]) -> tuple[Sequence[str], ...]:
        return (sentences,)


def _weighted(part: Part, shape: Shape, steps: int) -> Weighted:
    options = dict(part.options)
    weight = number(options.pop("weight", 1.0), f"{part.name}: weight")
    return Weighted(part.name, weight, _live(Part(part.name, tuple(options.items())), shape, steps=steps))


def _live(part: Part, shape: Shape | None, needs: frozenset[str] = frozenset(), steps: int = 0, seed: int = 0) -> Any:
    """The object a part names, built from its options, and from what its constructor asks for by name.

    It may ask for `shape`; a view maker for `needs`, what the terms want of the encoder; a term for `run_steps`; what
    is fitted after training for `run_seed`.
    """
    made = SLOTS[slot_of(part.name)][part.name]
    options = dict(part.options)
    allowed = dict(inspect.signature(made).parameters) if made.__init__ is not object.__init__ else {}
    told = {"shape": shape, "needs": needs, "run_steps": steps, "run_seed": seed}
    asked = {name: told[name] for name in told if allowed.pop(name, None) is not None}
    if nn.Module in made.__mro__ and "__init__" not in vars(made):
        allowed = {}  # nn.Module's own signature takes anything
    for name in options:
        if name not in allowed:
            raise BadSpec(f"{part.name} has no option {name!r}; {did_you_mean(name, allowed)}")
    for name, parameter in allowed.items():
        if parameter.default is parameter.empty and name not in options:
            raise BadSpec(f"{part.name} needs a value for {name}; write {part.name}({name}=...)")
    try:
        return made(**options, **asked)
    except TypeError as error:
        raise BadSpec(f"{part} cannot be built: {error}") from error
