"""Build live objects from a resolved spec: parts looked up, options checked, weights attached."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

from cseb.encoder import loading as pretrained
from cseb.encoder.encoder import Encoder
from cseb.encoder.interface import FROZEN, Post, Shape
from cseb.encoder.random_streams import new_weights
from cseb.errors import BadSpec
from cseb.methods.part_facts import facts
from cseb.methods.recipe import Recipe
from cseb.methods.spec import Method
from cseb.parts import (
    Composer,
    EarlyStopping,
    Embed,
    Memory,
    Mixer,
    NeedsSetup,
    Network,
    Outside,
    Paired,
    Pooled,
    Redrawn,
    Regulariser,
    Stages,
    Tuning,
    View,
    Wrapper,
)
from cseb.seeds import INIT, Seed, distinct, stream_seed
from cseb.training.batches import texts_a_line
from cseb.training.compatibility import check_needs, check_read, check_views, check_width
from cseb.training.live_parts import Weighted, groups, live, live_term, new


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
    until: EarlyStopping | None = None  # when it ends before its last step
    frozen_head: bool = True  # vectors of the frozen teachers are those after their heads
    outside: Outside | None = None  # a teacher from elsewhere, and what opens it
    teacher: Embed | None = None
    wrapper: Wrapper | None = None
    mixer: Mixer | None = None
    tuning: Tuning | None = None


def check(
    method: Method,
    folder: Path,
    trust_remote_code: bool = False,
    sentences: int | None = None,
    teacher_width: Callable[[Outside], int] | None = None,
) -> None:
    """Build every part of a resolved method against this encoder's small files. Raises: BadSpec, BadData.

    sentences: how many the subset has, where that is known. teacher_width: numbers of a vector of a teacher from
    outside, asked only where it matters.
    """
    recipe: Recipe = live(method.recipe, None)
    shape = pretrained.shape_of(folder, recipe.dropout, trust_remote_code)
    with torch.random.fork_rng(devices=[]):
        views, pooler, head, memory, terms, _ = _parts(method, recipe, shape)
        for weighted in terms:
            if isinstance(weighted.term, Pooled):
                weighted.term.pools(pooler)
        stages, _ = _stages(method, shape, terms)
        check_read(method, shape, views, terms)
        if teacher_width is not None:
            check_width(method, shape, terms, head, teacher_width)
        for stage in stages:
            _parts(stage, live(stage.recipe, None), shape)
        if method.tuning is not None:
            _tuning(method, shape)
        if method.mixer is not None:
            live(method.mixer, shape)
        if method.wrapper is not None:
            live(method.wrapper, shape).check([weighted.term for weighted in terms], head)
    post: Post | None = None if method.post is None else live(method.post, shape)
    if memory is not None and sentences is not None:
        memory.fits(sentences)
    if post is not None and sentences is not None:
        post.fits(sentences * texts_a_line(views))


def build(method: Method, folder: Path, seed: Seed, trust_remote_code: bool = False, staged: bool = False) -> Built:
    """Load the encoder and attach every part; new weights come from a stream of each part. Raises: BadSpec, BadData.

    staged: it is a model of another method's first stage, which has that method's views and network, read or not.
    """
    recipe: Recipe = live(method.recipe, None)
    shape = pretrained.shape_of(folder, recipe.dropout, trust_remote_code)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(stream_seed(seed, INIT))
        views, pooler, head, memory, terms, compose = _parts(method, recipe, shape, seed)
        network: Network | None = None if method.network is None else live(method.network, shape)
        needs = frozenset[str]().union(*(weighted.term.needs for weighted in terms), network.needs if network else ())
        encoder, notes = pretrained.load(folder, pooler, head, needs, recipe.dropout, trust_remote_code)
        for name, weighted in zip(distinct(one.name for one in terms), terms, strict=True):
            if isinstance(weighted.term, NeedsSetup):
                with new_weights(seed, f"{name}/networks"):
                    weighted.term.setup(encoder)
        if method.post is not None:
            with new_weights(seed, method.post.name):
                encoder.post = live(method.post, shape, seed=stream_seed(seed, f"{INIT}/{method.post.name}"))
    if method.regulariser is not None:
        regulariser: Regulariser = live(method.regulariser, shape)
        regulariser.attach(encoder.attentions())
    methods, until = _stages(method, shape, terms)
    if not staged:
        check_read(method, shape, views, terms)
    stages = tuple(partial(_staged, stage, folder, seed, trust_remote_code, until) for stage in methods)
    tuning: Tuning | None = None
    if method.tuning is not None:
        tuning = _tuning(method, shape)
        with new_weights(seed, method.tuning.name):
            tuning.attach(encoder)
    further: Encoder | None = None
    if method.network is not None and network is not None:
        with new_weights(seed, method.network.name):
            further = network(encoder)
    second, peer = (None, further) if network is not None and network.peer else (further, None)
    first: Stages | None = None if method.stages is None else live(method.stages, shape)
    return Built(
        *(recipe, encoder, views, terms, memory, tuple(notes), compose, stages, second, peer),
        frozen_head=first is None or first.with_head,
        outside=first if isinstance(first, Outside) else None,
        wrapper=None if method.wrapper is None else live(method.wrapper, shape),
        mixer=None if method.mixer is None else live(method.mixer, shape),
        tuning=tuning,
    )


def _staged(method: Method, folder: Path, seed: Seed, trust_remote_code: bool, until: EarlyStopping | None) -> Built:
    return replace(build(method, folder, seed, trust_remote_code, staged=True), until=until)


def _parts(
    method: Method, recipe: Recipe, shape: Shape, seed: Seed = 0
) -> tuple[View, Any, Any, Memory | None, tuple[Weighted, ...], Composer | None]:
    trained = recipe.steps > 0
    if trained and not method.terms:
        raise BadSpec(f"{method.name} has no loss term; add one, or recipe(steps=0)")
    if recipe.warmup > recipe.steps:
        raise BadSpec(f"recipe: warmup is {recipe.warmup} of {recipe.steps} steps; it may take all of them at most")
    memory: Memory | None = None
    if method.memory is not None:
        memory = new(seed, method.memory.name, partial(live, method.memory, shape))
    terms = tuple(
        new(seed, name, partial(live_term, part, shape, recipe.steps))
        for name, part in zip(distinct(part.name for part in method.terms), method.terms, strict=True)
    )
    needs = frozenset[str]().union(*(weighted.term.needs for weighted in terms))
    # Without training a line is read all the same, by what is fitted afterwards.
    read = trained or facts(method.views.name).columns
    views = new(seed, method.views.name, partial(live, method.views, shape, needs)) if read else _NoViews()
    pooler, head = (new(seed, part.name, partial(live, part, shape)) for part in (method.pooler, method.head))
    compose: Composer | None = None
    if method.compose is not None and trained:
        compose = new(seed, method.compose.name, partial(live, method.compose, shape))
        compose.check(groups(views), [weighted.term for weighted in terms], memory is not None)
        if method.network is not None:
            raise BadSpec(f"{method.network.name} encodes whole sentences, not parts of them; remove compose")
    elif groups(views):
        raise BadSpec(f"{method.views.name} gives parts of sentences, and nothing composes them; add +compose")
    if trained:
        check_views(terms, len(groups(views)) or views.views, method.views.name)
    if method.regulariser is not None:
        live(method.regulariser, shape)
    network: Network | None = None if method.network is None else live(method.network, shape)
    if trained:
        check_needs(method, views, terms, network)
    return views, pooler, head, memory, terms, compose


def _stages(method: Method, shape: Shape, terms: Sequence[Weighted]) -> tuple[tuple[Method, ...], EarlyStopping | None]:
    """The methods to train first, and until when. Raises: BadSpec if no term uses them, or a term lacks them."""
    looking = [weighted.name for weighted in terms if FROZEN in weighted.term.needs]
    if method.stages is None:
        if looking:
            raise BadSpec(
                f"{looking[0]}: there are no frozen models to compare with; add +entropy_models, +teacher or "
                "+outside_teacher"
            )
        return (), None
    if not looking:
        raise BadSpec(f"{method.stages.name}: no term uses these models; add one such as +regulators, or remove them")
    if method.compose is not None:
        raise BadSpec(
            f"{method.stages.name}: frozen models embed whole sentences, not parts; remove compose and halves"
        )
    stages: Stages = live(method.stages, shape)
    # A teacher from outside reads sentences as they are, whatever is drawn from them for the student.
    if isinstance(live(method.views, shape), Paired if isinstance(stages, Outside) else Redrawn | Paired):
        raise BadSpec(f"{method.stages.name}: frozen models embed views once, {method.views.name} draws them anew")
    if not dict(method.recipe.options)["steps"]:
        return (), None
    return tuple(replace(one, mixer=None) for one in stages.methods(method)), stages.until


def _tuning(method: Method, shape: Shape) -> Tuning:
    """Raises: BadSpec if a copy would have to follow weights that only training has."""
    assert method.tuning is not None
    found: Tuning = live(method.tuning, shape)
    follows = next((part.name for part in method.parts() if facts(part.name).requires == "momentum copy"), "")
    if found.adds_weights and follows:
        raise BadSpec(
            f"{follows} follows the weights of the encoder, and {method.tuning.name} trains others; take one out"
        )
    return found


class _NoViews:
    """Stands where nothing is trained."""

    views = 1

    def __call__(self, sentences: Sequence[str]) -> tuple[Sequence[str], ...]:
        return (sentences,)
