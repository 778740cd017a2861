"""The names of parts: which there are, and the slot that each goes into."""

from __future__ import annotations

from cseb.errors import BadSpec, UnknownName
from cseb.registry import METHODS, PRESETS, SLOTS, left_out


def part_names() -> set[str]:
    """Return every name that may stand behind a +."""
    return {*PRESETS, *(name for registry in SLOTS.values() for name in registry)}


def is_part(name: str) -> bool:
    """Return whether a part has this name, without building the set: readers of records ask thousands of times."""
    return name in PRESETS or any(name in registry for registry in SLOTS.values())


def slot_of(name: str) -> str:
    """Return the slot that a part of this name goes into. Raises: UnknownName; BadSpec for the name of a method."""
    for registries in ({slot: registry.builtin for slot, registry in SLOTS.items()}, SLOTS):  # our own names first
        for slot, names in registries.items():
            if name in names:
                return slot
    if name in METHODS:
        message = f"{name!r} is a method and no part; write {name}+PART, or list both with a comma"
        raise BadSpec("; ".join([message, *left_out()]))
    raise UnknownName("part", name, part_names(), left_out())
