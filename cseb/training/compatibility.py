"""Refuse parts of a method that do not go together, before anything is trained. Nothing here decides a number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from cseb.encoder.interface import ATTENTIONS, Shape
from cseb.errors import BadSpec
from cseb.methods.part_facts import facts
from cseb.methods.spec import Method
from cseb.parts import EVERYTHING, NeedsSetup, Network, Outside, Pooled, Stages, Tuning, View
from cseb.training.live_parts import Weighted, groups, live
from cseb.training.unread_parts import unread, untrained


def check_needs(method: Method, views: View, terms: Sequence[Weighted], network: Network | None) -> None:
    """Raises: BadSpec if a term needs something that this method does not have."""
    peer = network is not None and network.peer
    for weighted in terms:
        if (needed := getattr(weighted.term, "edits", 0)) > (there := getattr(views, "edits", 0)):
            raise BadSpec(f"{weighted.name} needs edited views: {needed}; {method.views.name} gives {there}")
        if getattr(weighted.term, "networks", 1) > 1 and not peer:
            raise BadSpec(f"{weighted.name} compares two networks, and there is one; add +peer_encoder")
        if peer and isinstance(weighted.term, NeedsSetup):
            raise BadSpec(f"{weighted.name} keeps the state of one network; remove it or the second network")
        if getattr(weighted.term, "ratings", False) and not hasattr(views, "scores"):
            raise BadSpec(f"{weighted.name} needs rated pairs, {method.views.name} has no ratings; add +rated_pairs")
        asked, drawn = getattr(weighted.term, "spans", None), getattr(views, "spans", None)
        if asked is not None and asked != drawn:
            found = "no spans; add +spans" if drawn is None else _spans(drawn) + "; write the same numbers in both"
            raise BadSpec(f"{weighted.name} reads {_spans(asked)}, {method.views.name} gives {found}")
        whole = getattr(weighted.term, "reads", EVERYTHING).tokens
        if method.compose is not None and any(size > 1 for size in groups(views)[:whole]):
            raise BadSpec(f"{weighted.name} reads the tokens of a view, and a composed view has none; remove compose")
        if getattr(weighted.term, "reads_anew", False) and hasattr(views, "renderings"):
            raise BadSpec(
                f"{weighted.name} has the views' tokens read once more, and {method.views.name} changes how they are "
                "read; take +dropout or another view of tokens"
            )
    if hasattr(views, "scores") and not any(getattr(weighted.term, "ratings", False) for weighted in terms):
        raise BadSpec(f"{method.views.name}: no term reads its ratings; add +rank_scores, or take +pairs")
    if method.regulariser is not None and hasattr(views, "renderings"):
        raise BadSpec(f"{method.views.name} sets the noise of its views itself; remove {method.regulariser.name}")
    if peer and method.memory is not None:
        raise BadSpec(f"{method.memory.name} holds vectors of one network; remove it or the second network")


def check_read(method: Method, shape: Shape, views: View, terms: Sequence[Weighted]) -> None:
    """Raises: BadSpec if the method has a part whose output no term reads."""
    changed: Tuning | None = None if method.tuning is None else live(method.tuning, shape)
    if isinstance(changed, Pooled):
        changed.pools(live(method.pooler, shape))
    if works := bool(getattr(changed, "works_untrained", False)):
        copied = [part.name for part in method.parts() if facts(part.name).requires == "momentum copy"]
        if copied and method.tuning is not None:
            raise BadSpec(f"{copied[0]} reads a copy of the encoder that lacks {method.tuning.name}; take one out")
    if not method.terms:
        untrained(method, live(method.head, shape).keep, works)
    elif dict(method.recipe.options)["steps"]:
        network: Network | None = None if method.network is None else live(method.network, shape)
        stages: Stages | None = None if method.stages is None else live(method.stages, shape)
        mapped = [weighted.name for weighted in terms if ATTENTIONS in weighted.term.needs]
        if mapped and method.tuning is not None and getattr(changed, "longer_maps", False):
            raise BadSpec(
                f"{mapped[0]} reads attention maps among tokens, and {method.tuning.name} puts others in front; take "
                "one out"
            )
        asking = [weighted.name for weighted in terms if getattr(weighted.term, "hard_frozen", False)]
        if asking and method.stages is not None and not isinstance(stages, Outside):
            raise BadSpec(
                f"{asking[0]} needs frozen vectors of hard negatives, and {method.stages.name} has none; take "
                '+outside_teacher(encoder="FOLDER")'
            )
        unread(
            method,
            [weighted.term for weighted in terms],
            len(groups(views)) or views.views,
            getattr(views, "edits", 0),
            None if network is None else network.peer,
            0 if stages is None else len(stages.methods(method)) or 1,
        )


def check_views(terms: Sequence[Weighted], views: int, maker: str) -> None:
    """Raises: BadSpec if a term compares more views than there are."""
    for weighted in terms:
        if (needed := getattr(weighted.term, "views", 1)) > views:
            raise BadSpec(f"{weighted.name} compares {needed} views of a sentence; {maker} gives {views}")


def check_width(
    method: Method, shape: Shape, terms: Sequence[Weighted], head: Any, teacher_width: Callable[[Outside], int]
) -> None:
    """Refuse parts that combine vectors of two widths. Raises: BadSpec."""
    own = _width(head, shape)
    fitted = None if method.post is None else live(method.post, shape)
    if method.post is not None and getattr(fitted, "of_encoder_width", False) and head.keep and own != shape.width:
        raise BadSpec(
            f"{method.post.name} is as wide as the encoder, {shape.width} numbers, and {method.head.name} keeps {own} "
            "at test; take +none, or +whiten in its place"
        )
    bound = [weighted.name for weighted in terms if getattr(weighted.term, "same_width", False)]
    if not bound or method.stages is None:
        return
    stage = live(method.stages, shape)
    if not isinstance(stage, Outside):
        for first in stage.methods(method):
            there = _width(live(first.head, shape), shape) if stage.with_head else shape.width
            if own != there:
                raise BadSpec(
                    f"{bound[0]} compares vectors with those of frozen models number by number: {method.head.name} "
                    f"gives {own}, they have {there}; take +none"
                )
        return
    taught = teacher_width(stage) if stage.own_width else shape.width
    if own != taught:
        cure = f"+project(width={taught})" if taught != shape.width else "+none"
        raise BadSpec(
            f"{bound[0]} compares vectors number by number: they have {own}, the teacher's {taught}; take {cure}"
            + (" or +outside_teacher(width=student)" if stage.own_width else "")
        )


def _spans(numbers: tuple[int, int]) -> str:
    return f"anchors={numbers[0]} with positives={numbers[1]}"


def _width(head: Any, shape: Shape) -> int:
    """Numbers in a vector behind this head."""
    with torch.no_grad():
        found: int = head.eval()(torch.zeros(2, shape.width)).shape[1]
    return found
