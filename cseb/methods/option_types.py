"""What an option may be, read from the annotation of a constructor's parameter, and checked in one place.

A part writes `temperature: Positive`, `form: Literal["released", "literal"]`, `rate: Annotated[float, Between(0, 1)]`;
all else, such as `float` or `bool`, means any finite number, or true and false. Works without torch.
"""

from __future__ import annotations

import ast
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Union, get_args, get_origin

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

KNOWN: dict[str, Any] = {
    **{kind.__name__: kind for kind in (bool, int, float, str, tuple, Sequence, Above, Between, AtLeast)},
    "Literal": Literal,
    "Annotated": Annotated,
    "None": None,
    "Positive": Positive,
    "Rate": Rate,
    "Count": Count,
    "Size": Size,
    "DropoutRate": DropoutRate,
}
Lookup = Callable[[str], ast.expr | None]  # a name of the part's own module to what it is assigned there


def _nowhere(name: str) -> None:
    return None


def read(annotation: ast.expr | None, lookup: Lookup = _nowhere) -> Any:
    """The type an annotation spells, None for one that says nothing about the option, such as a class of its own.

    lookup: finds aliases such as `Side = Literal["positive", "anchor"]`, which several parts may share.
    """
    try:
        return None if annotation is None else _read(annotation, lookup)
    except (KeyError, TypeError, ValueError, RecursionError):  # an alias may name itself
        return None


def _read(node: ast.expr, lookup: Lookup) -> Any:  # noqa: PLR0911  # one answer for each form
    match node:
        case ast.Name(id=name) if name not in KNOWN and (alias := lookup(name)) is not None:
            return _read(alias, lookup)
        case ast.Name(id=name):
            return KNOWN[name]
        case ast.Attribute(attr=name):
            return KNOWN[name]
        case ast.Constant(value=str() as text):
            return _read(ast.parse(text, mode="eval").body, lookup)
        case ast.Constant(value=None):
            return type(None)
        case ast.BinOp(op=ast.BitOr(), left=left, right=right):
            return Union[_read(left, lookup), _read(right, lookup)]  # noqa: UP007  # the operator would refuse a Literal
        case ast.Subscript(value=ast.Name(id="Literal") | ast.Attribute(attr="Literal"), slice=held):
            return Literal[_choices(held)]
        case ast.Subscript(value=value, slice=ast.Tuple(elts=inner)):
            return _read(value, lookup)[tuple(_inner(one, lookup) for one in inner)]
        case ast.Subscript(value=value, slice=inner):
            return _read(value, lookup)[_inner(inner, lookup)]
        case ast.Call(func=func, args=args):
            return _read(func, lookup)(*map(ast.literal_eval, args))
    raise ValueError(ast.dump(node))


def _inner(node: ast.expr, lookup: Lookup) -> Any:
    return Ellipsis if isinstance(node, ast.Constant) and node.value is Ellipsis else _read(node, lookup)


def _choices(node: ast.expr) -> Any:
    found = ast.literal_eval(node)
    return found if isinstance(found, tuple) else (found,)


def check(kind: Any, value: Any, what: str) -> None:
    """Raise BadSpec if an option's value is not of this kind. kind: as `read` gives it; None allows everything."""
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
    for one, inner in zip(value, [kinds[0]] * len(value) if endless else kinds or [None] * len(value), strict=True):
        check(inner, one, what)


def description(kind: Any) -> str:
    """What is allowed, in words; "" where nothing is known."""
    origin = get_origin(kind)
    if kind is None:
        return ""
    if origin is Annotated:
        bounds = " and ".join(str(one) for one in get_args(kind)[1:] if isinstance(one, Bound))
        return bounds or description(get_args(kind)[0])
    if origin is Literal:
        return ", ".join(map(repr, get_args(kind)))
    if origin in (Union, types.UnionType):
        return " or ".join(map(description, get_args(kind)))
    if kind in (tuple, Sequence) or origin in (tuple, Sequence):
        inner = [description(one) for one in get_args(kind) if one is not Ellipsis]
        held = f" {', '.join(dict.fromkeys(inner))}" if inner else ""
        count = f" {len(inner)}:" if len(inner) > 1 and Ellipsis not in get_args(kind) else ""
        return f"a tuple of{count}{held}" if held else "a tuple"
    plain = {bool: "True, False", int: "a whole number", float: "a number", str: "a word or text", type(None): "None"}
    return plain.get(kind, "")
