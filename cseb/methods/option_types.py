"""Types of options, read from the annotations of a constructor's parameters, and checked in one place.

A part writes `temperature: Positive`, `form: Literal["released", "literal"]`, `rate: Annotated[float, Between(0, 1)]`;
all else, such as `float` or `bool`, means any finite number, or true and false. Works without torch.
"""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Annotated, Any, Literal, Optional, Union, get_args, get_origin, get_type_hints  # noqa: F401

from cseb.errors import BadSpec, above, between, number, one_of, whole


@dataclass(frozen=True, slots=True)
class Above:
    """A number above `bound`."""

    bound: float

    def check(self, value: Any, what: str) -> None:
        """Raises: BadSpec."""
        above(self.bound, value, what)

    def __str__(self) -> str:
        return f"a number above {self.bound:g}"


@dataclass(frozen=True, slots=True)
class Between:
    """A number in [low, high]."""

    low: float
    high: float

    def check(self, value: Any, what: str) -> None:
        """Raises: BadSpec."""
        between(self.low, self.high, value, what)

    def __str__(self) -> str:
        return f"a number from {self.low:g} to {self.high:g}"


@dataclass(frozen=True, slots=True)
class AtLeast:
    """A whole number of at least `low`."""

    low: int

    def check(self, value: Any, what: str) -> None:
        """Raises: BadSpec."""
        whole(self.low, value, what)

    def __str__(self) -> str:
        return f"a whole number of at least {self.low}"


Bound = Above | Between | AtLeast

Positive = Annotated[float, Above(0)]
Rate = Annotated[float, Between(0, 1)]
Count = Annotated[int, AtLeast(1)]
Size = Annotated[int, AtLeast(0)]
DropoutRate = Annotated[float, Between(0, 0.9)]


def evaluated(annotation: Any, names: Mapping[str, Any]) -> Any:
    """Return the type that an annotation, or its text with these names, spells; None where it cannot be evaluated."""
    annotated = SimpleNamespace(__annotations__={"option": annotation})
    try:
        return get_type_hints(annotated, dict(names), include_extras=True)["option"]
    except Exception:  # whatever a third-party annotation raises, such as a name that only type checkers import
        return None


def from_text(text: str | None) -> Any:
    """Return the type that facts.json spells, such as `Annotated[float, Above(bound=0)]`."""
    return None if text is None else evaluated(text, globals())


def check(kind: Any, value: Any, what: str) -> None:
    """Raise BadSpec if an option's value is not of this kind. kind: a type; None allows everything."""
    origin = get_origin(kind)
    if kind is None:
        return
    if origin is Annotated:
        inner, *bounds = get_args(kind)
        for bound in bounds:  # they say more than the type does
            if isinstance(bound, Bound):
                bound.check(value, what)
        check(inner, value, what)
    elif origin is Literal:
        one_of(get_args(kind), value, what)
    elif origin in (Union, types.UnionType):
        _check_any(get_args(kind), value, what)
    elif origin is tuple or kind is tuple or origin is Sequence or kind is Sequence:
        _check_tuple(kind, value, what)
    elif kind is float:
        number(value, what)
    elif kind is int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise BadSpec(f"{what} is {value!r}; a whole number is needed")
    elif kind is bool:
        one_of((True, False), value, what)
    elif (kind is str or kind is type(None)) and not isinstance(value, kind):
        raise BadSpec(f"{what} is {value!r}; it must be {description(kind)}")


def _check_any(kinds: Sequence[Any], value: Any, what: str) -> None:
    reasons = []
    for kind in kinds:
        try:
            return check(kind, value, what)
        except BadSpec as error:
            reasons.append((kind, error))
    fitting = [error for kind, error in reasons if get_origin(kind) is Annotated and isinstance(value, int | float)]
    raise fitting[0] if fitting else BadSpec(f"{what} is {value!r}; allowed: {description(Union[tuple(kinds)])}")  # noqa: UP007


def _check_tuple(kind: Any, value: Any, what: str) -> None:
    kinds = get_args(kind)
    endless = len(kinds) == 1 or (len(kinds) == 2 and kinds[1] is Ellipsis)
    if not isinstance(value, tuple) or (kinds and not endless and len(value) != len(kinds)):
        raise BadSpec(f"{what} is {value!r}; it must be {description(kind)}, written in brackets with commas")
    for item, inner in zip(value, [kinds[0]] * len(value) if endless else kinds or [None] * len(value), strict=True):
        check(inner, item, what)


def description(kind: Any) -> str:
    """Return what is allowed, in words; "" if nothing is known of it."""
    origin = get_origin(kind)
    if kind is None:
        return ""
    if origin is Annotated:
        bounds = " and ".join(str(bound) for bound in get_args(kind)[1:] if isinstance(bound, Bound))
        return bounds or description(get_args(kind)[0])
    if origin is Literal:
        return ", ".join(map(repr, get_args(kind)))
    if origin in (Union, types.UnionType):
        return " or ".join(map(description, get_args(kind)))
    if kind in (tuple, Sequence) or origin in (tuple, Sequence):
        inner = [description(item) for item in get_args(kind) if item is not Ellipsis]
        count = f" {len(inner)}:" if len(inner) > 1 and Ellipsis not in get_args(kind) else ""
        return f"a tuple of{count} {', '.join(dict.fromkeys(inner))}" if inner else "a tuple"
    plain = {bool: "True, False", int: "a whole number", float: "a number", str: "a word or text", type(None): "None"}
    return plain.get(kind, "")
