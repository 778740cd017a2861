"""Refuse parts of a method that do not fit each other, before training. No number depends on this file."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from cseb.encoder.interface import ATTENTIONS, FROZEN
from cseb.encoder.recomputing import check_layers
from cseb.errors import BadSpec
from cseb.methods.part_facts import facts
from cseb.methods.spec import Method, Part
from cseb.parts import EVERYTHING, NeedsSetup, Outside, Paired, Pooled, Reads, Redrawn
from cseb.parts.tuning import meta_backbone
from cseb.training.batches import texts_per_line
from cseb.training.construct import Parts, groups

# Slots of what takes part in training alone.
TRAINING = ("compose", "regulariser", "memory", "stages", "network", "tuning", "wrapper", "mixer")
VECTORS = frozenset({"z", "h", "layers", "attentions"})


def check_parts(parts: Parts, first_stage: bool = False) -> None:
    """Raise BadSpec if parts do not go with each other.

    first_stage: this is a model of another method's first stage. It has the views and the network of that method,
    whether its own term reads them or not.
    """
    _check_recipe(parts)
    _check_composition(parts)
    if parts.recipe.steps:
        _check_views(parts)
        _check_terms(parts)
    _check_positives(parts)
    _check_stages(parts)
    if not first_stage:
        _check_read(parts)
    if parts.tuning is not None and parts.tuning.adds_weights and (follower := _follower(parts)) is not None:
        raise BadSpec(
            f"{follower.name} follows the weights of the encoder, and {_name(parts.method.tuning)} trains others; take "
            "one out"
        )
    for weighted in parts.terms:
        if parts.tuning is not None and parts.tuning.adds_weights and getattr(weighted.term, "of_own_weights", False):
            raise BadSpec(
                f"{weighted.name} reads the encoder's own weights, and {_name(parts.method.tuning)} trains others; "
                "take one out"
            )
        if isinstance(weighted.term, Pooled):
            weighted.term.pools(parts.pooler)
    if parts.wrapper is not None:
        parts.wrapper.check([weighted.term for weighted in parts.terms], parts.head)


def check_widths(parts: Parts, models: Sequence[Parts], teacher_width: Callable[[Outside], int]) -> None:
    """Raise BadSpec if parts combine vectors of two widths. models: of the first stage, with an outside teacher."""
    own = _width(parts)
    if getattr(parts.post, "of_encoder_width", False) and parts.head.keep and own != parts.shape.width:
        raise BadSpec(
            f"{_name(parts.method.post)} is as wide as the encoder, {parts.shape.width} numbers, and "
            f"{parts.method.head.name} keeps {own} at test; take +none, or +whiten in its place"
        )
    bound = [weighted.name for weighted in parts.terms if getattr(weighted.term, "same_width", False)]
    if not bound or parts.stages is None:
        return
    if not isinstance(parts.stages, Outside):
        for model in models:
            width = _width(model) if parts.stages.with_head else parts.shape.width
            if own != width:
                raise BadSpec(
                    f"{bound[0]} compares vectors with those of frozen models number by number: "
                    f"{parts.method.head.name} gives {own}, they have {width}; take +none"
                )
        return
    width = teacher_width(parts.stages) if parts.stages.own_width else parts.shape.width
    if own != width:
        cure = f"+project(width={width})" if width != parts.shape.width else "+none"
        raise BadSpec(
            f"{bound[0]} compares vectors number by number: they have {own}, the teacher's {width}; take {cure}"
            + (f" or +{_name(parts.method.stages)}(width=student)" if parts.stages.own_width else "")
        )


def check_size(parts: Parts, sentences: int) -> None:
    """Raise BadSpec if a queue or a post-processor needs more sentences than the subset has."""
    if parts.memory is not None:
        parts.memory.fits(sentences)
    if parts.post is not None:
        parts.post.fits(sentences * texts_per_line(parts.views))


def _check_recipe(parts: Parts) -> None:
    recipe = parts.recipe
    if recipe.steps and not parts.terms:
        raise BadSpec(f"{parts.method.name} has no loss term; add one, or recipe(steps=0)")
    if recipe.warmup > recipe.steps:
        raise BadSpec(f"recipe: warmup is {recipe.warmup} of {recipe.steps} steps; it may take all of them at most")
    if recipe.activation_checkpointing:
        _check_recomputed(parts)


def _check_recomputed(parts: Parts) -> None:
    """Raise BadSpec if the layers of the encoder cannot be computed again in the backward pass."""
    if (backbone := meta_backbone(parts.shape.folder)) is not None:
        check_layers(backbone)
    named: list[tuple[Part | None, object]] = [(parts.method.views, parts.views), (parts.method.tuning, parts.tuning)]
    named += zip(parts.method.terms, (weighted.term for weighted in parts.terms), strict=True)
    for part, constructed in named:
        if getattr(constructed, "changes_layers", False):
            raise BadSpec(
                f"recipe: activation_checkpointing=true is not possible with {_name(part)}, which changes the layers "
                "while they read a sentence; take chunk"
            )


def _check_composition(parts: Parts) -> None:
    method, sizes = parts.method, groups(parts.views)
    if parts.compose is not None:
        parts.compose.check(sizes, [weighted.term for weighted in parts.terms], parts.memory is not None)
        if method.network is not None:
            raise BadSpec(f"{method.network.name} encodes whole sentences, not parts of them; remove compose")
    elif sizes:
        raise BadSpec(f"{method.views.name} gives parts of sentences, and nothing composes them; add +compose")


def _check_views(parts: Parts) -> None:
    views = len(groups(parts.views)) or parts.views.views
    for weighted in parts.terms:
        if (needed := getattr(weighted.term, "views", 1)) > views:
            maker = parts.method.views.name
            raise BadSpec(f"{weighted.name} compares {needed} views of a sentence; {maker} gives {views}")


def _check_positives(parts: Parts) -> None:
    """Raise BadSpec if a term would take pairs that are none for positives."""
    if not (unlike := getattr(parts.views, "unlike", "")):
        return
    told = "ratings" if hasattr(parts.views, "scores") else "same"
    for weighted in parts.terms:
        if getattr(weighted.term, "views", 1) > 1 and not getattr(weighted.term, told, False):
            raise BadSpec(
                f"{weighted.name} takes two views for a positive pair; {parts.method.views.name} has {unlike}, too; "
                "take one out"
            )


def _check_terms(parts: Parts) -> None:
    """Raise BadSpec if a term needs something that this method does not have."""
    method, views, terms = parts.method, parts.views, parts.terms
    peer = parts.network is not None and parts.network.peer
    for weighted in terms:
        if (needed := getattr(weighted.term, "edits", 0)) > (edits := getattr(views, "edits", 0)):
            raise BadSpec(f"{weighted.name} needs edited views: {needed}; {method.views.name} gives {edits}")
        if getattr(weighted.term, "networks", 1) > 1 and not peer:
            raise BadSpec(f"{weighted.name} compares two networks, and there is one; add +peer_encoder")
        if peer and isinstance(weighted.term, NeedsSetup):
            raise BadSpec(f"{weighted.name} keeps the state of one network; remove it or the second network")
        if getattr(weighted.term, "ratings", False) and not hasattr(views, "scores"):
            raise BadSpec(f"{weighted.name} needs rated pairs, {method.views.name} has no ratings; add +rated_pairs")
        wanted, drawn = getattr(weighted.term, "spans", None), getattr(views, "spans", None)
        if wanted is not None and wanted != drawn:
            source = "no spans; add +spans" if drawn is None else _spans(drawn) + "; write the same numbers in both"
            raise BadSpec(f"{weighted.name} reads {_spans(wanted)}, {method.views.name} gives {source}")
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


def _check_stages(parts: Parts) -> None:
    """Raise BadSpec if no term uses the frozen models of the first stage, or a term lacks them."""
    method, readers = parts.method, [weighted.name for weighted in parts.terms if FROZEN in weighted.term.needs]
    if method.stages is None:
        if readers:
            raise BadSpec(
                f"{readers[0]}: there are no frozen models to compare with; add +entropy_models, +teacher, "
                "+own_teacher or +outside_teacher"
            )
        return
    if not readers:
        raise BadSpec(f"{method.stages.name}: no term uses these models; add one such as +regulators, or remove them")
    if method.compose is not None:
        raise BadSpec(
            f"{method.stages.name}: frozen models embed whole sentences, not parts; remove compose and halves"
        )
    # A teacher from outside reads sentences as they are, whatever is drawn from them for the student.
    if isinstance(parts.views, Paired if isinstance(parts.stages, Outside) else Redrawn | Paired):
        raise BadSpec(f"{method.stages.name}: frozen models embed views once, {method.views.name} draws them anew")


def _check_read(parts: Parts) -> None:
    """Raise BadSpec if the method has a part whose output no term reads."""
    method, tuning, stages = parts.method, parts.tuning, parts.stages
    if isinstance(tuning, Pooled):
        tuning.pools(parts.pooler)
    works = bool(getattr(tuning, "works_untrained", False))
    if works and (follower := _follower(parts)) is not None:
        raise BadSpec(f"{follower.name} reads a copy of the encoder that lacks {_name(method.tuning)}; take one out")
    if not method.terms:
        _check_untrained(method, parts.head.keep, works)
        return
    if not parts.recipe.steps:
        return
    mapped = [weighted.name for weighted in parts.terms if ATTENTIONS in weighted.term.needs]
    if mapped and getattr(tuning, "longer_maps", False):
        raise BadSpec(
            f"{mapped[0]} reads attention maps among tokens, and {_name(method.tuning)} puts others in front; take "
            "one out"
        )
    readers = [weighted.name for weighted in parts.terms if getattr(weighted.term, "hard_frozen", False)]
    if readers and stages is not None and not isinstance(stages, Outside):
        raise BadSpec(
            f"{readers[0]} needs frozen vectors of hard negatives, and {_name(method.stages)} has none; take "
            '+own_teacher or +outside_teacher(encoder="FOLDER")'
        )
    _check_unread(parts)


def _check_untrained(method: Method, head_kept: bool, works: bool = False) -> None:
    """Raise BadSpec if a method without terms has a part for training alone. works: its tuning needs no training."""
    for slot in TRAINING:
        if (part := getattr(method, slot)) is not None and not (works and slot == "tuning"):
            raise BadSpec(f"{part.name}: {method.name} trains nothing, so it has no effect; take it out, or add a term")
    if method.head.name != "none" and not head_kept:
        raise BadSpec(f"{method.head.name}: {method.name} is neither trained nor tested with a head; take +none")


def _check_unread(parts: Parts) -> None:
    """Raise BadSpec if no term reads the output of a part: it would cost time without an effect."""
    method, terms, stages = parts.method, [weighted.term for weighted in parts.terms], parts.stages
    views, edits = len(groups(parts.views)) or parts.views.views, getattr(parts.views, "edits", 0)
    peer = parts.network is not None and parts.network.peer
    reads: list[Reads] = [getattr(term, "reads", EVERYTHING) for term in terms]
    made = frozenset[str]().union(*(each.made for each in reads))
    none = f"no term reads {{}} (terms: {', '.join(part.name for part in method.terms)})"
    if method.memory is not None and "queue" not in made:
        raise BadSpec(
            f"{method.memory.name}: {none.format('its vectors')}; take it out, or add a term that does, such as infonce"
        )
    if method.head.name != "none" and not made & {"z", "head"}:
        raise BadSpec(f"{method.head.name}: {none.format('what it gives')}; take +none")
    if views > (read := max(each.views for each in reads)):
        unseen, fewer = f"more than {read} of its {views} views", ", such as +identity" if read == 1 else ""
        raise BadSpec(f"{method.views.name}: {none.format(unseen)}; take fewer{fewer}")
    if edits > (read := max(each.edits for each in reads)):
        unseen = f"more than {read} of its {edits} edited views"
        raise BadSpec(f"{method.views.name}: {none.format(unseen)}; take other views, or add a term that does")
    encoded = max((each.views for each in reads if each.made & VECTORS), default=0)
    if method.network is not None and not peer and min(views, encoded) < 2:
        raise BadSpec(f"{method.network.name}: {none.format('a second view, which it encodes')}; take it out")
    if method.network is not None and peer and "peer" not in made:
        raise BadSpec(f"{method.network.name}: {none.format('two networks')}; take it out, or add +kl_peers")
    models = 0 if stages is None else len(stages.methods(method)) or 1
    if method.stages is not None and models > (read := max(each.models for each in reads)):
        raise BadSpec(f"{method.stages.name}: {none.format(f'more than {read} of its {models} models')}; train fewer")


def _follower(parts: Parts) -> Part | None:
    """Return the part that keeps a momentum copy of the encoder, if there is one."""
    return next((part for part in parts.method.parts() if facts(part.name).requires == "momentum copy"), None)


def _name(part: Part | None) -> str:
    assert part is not None
    return part.name


def _spans(numbers: tuple[int, int]) -> str:
    return f"anchors={numbers[0]} with positives={numbers[1]}"


def _width(parts: Parts) -> int:
    """Return the width of a vector behind the head."""
    with torch.no_grad():
        vectors: int = parts.head.eval()(torch.zeros(2, parts.shape.width)).shape[1]
    return vectors
