"""Refuse parts whose output no term of a method reads: they would cost time without an effect."""

from __future__ import annotations

from collections.abc import Sequence

from cseb.errors import BadSpec
from cseb.methods.spec import Method
from cseb.parts import EVERYTHING, Reads, Term

# Slots of what takes part in training alone.
TRAINING = ("compose", "regulariser", "memory", "stages", "network", "tuning", "wrapper", "mixer")
VECTORS = frozenset({"z", "h", "layers", "attentions"})


def untrained(method: Method, head_kept: bool, works: bool = False) -> None:
    """Raises: BadSpec if a method without terms has a part that only training could use.

    works: what changes the encoder needs no training.
    """
    for slot in TRAINING:
        if (part := getattr(method, slot)) is not None and not (works and slot == "tuning"):
            raise BadSpec(f"{part.name}: {method.name} trains nothing, so it has no effect; take it out, or add a term")
    if method.head.name != "none" and not head_kept:
        raise BadSpec(f"{method.head.name}: {method.name} is neither trained nor tested with a head; take +none")


def unread(method: Method, terms: Sequence[Term], views: int, edits: int, peer: bool | None, models: int) -> None:
    """Raises: BadSpec if no term reads what a part of this method makes.

    views, edits: what the view maker gives, composed. peer: of which kind the further network is, None without one.
    models: those of the first stage.
    """
    looked: list[Reads] = [getattr(term, "reads", EVERYTHING) for term in terms]
    made = frozenset[str]().union(*(one.made for one in looked))
    none = f"no term reads {{}} (terms: {', '.join(part.name for part in method.terms)})"
    if method.memory is not None and "queue" not in made:
        raise BadSpec(
            f"{method.memory.name}: {none.format('its vectors')}; take it out, or add a term that does, such as infonce"
        )
    if method.head.name != "none" and not made & {"z", "head"}:
        raise BadSpec(f"{method.head.name}: {none.format('what it gives')}; take +none")
    if views > (read := max(one.views for one in looked)):
        unseen, fewer = f"more than {read} of its {views} views", ", such as +identity" if read == 1 else ""
        raise BadSpec(f"{method.views.name}: {none.format(unseen)}; take fewer{fewer}")
    if edits > (read := max(one.edits for one in looked)):
        unseen = f"more than {read} of its {edits} edited views"
        raise BadSpec(f"{method.views.name}: {none.format(unseen)}; take other views, or add a term that does")
    encoded = max((one.views for one in looked if one.made & VECTORS), default=0)
    if method.network is not None and not peer and min(views, encoded) < 2:
        raise BadSpec(f"{method.network.name}: {none.format('a second view, which it encodes')}; take it out")
    if method.network is not None and peer and "peer" not in made:
        raise BadSpec(f"{method.network.name}: {none.format('two networks')}; take it out, or add +kl_peers")
    if method.stages is not None and models > (read := max(one.models for one in looked)):
        raise BadSpec(f"{method.stages.name}: {none.format(f'more than {read} of its {models} models')}; train fewer")
