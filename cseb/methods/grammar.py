"""Read methods and parts from text such as `micse-ami+recipe(steps=500)`. Nothing is evaluated."""

from __future__ import annotations

import ast
import math
import sys
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from cseb.errors import BadSpec, UnknownName
from cseb.methods.part_facts import is_part, slot_of
from cseb.methods.spec import SEVERAL, Edit, Method, Option, Part, method_named, preset
from cseb.registry import METHODS, left_out

WORDS: dict[str, bool | None] = {"true": True, "false": False, "none": None}
LONGEST = 10_000  # characters of a spec
LARGEST = 2**63  # of a whole number: what arrays and random generators can hold

# Systems of the five papers' tables that do not run here, by their names in benchmarks/published/scores.csv.
NOT_OFFERED: Mapping[str, str] = {
    "osscse": "no code was found and its abstract leaves generators, loss and every number open",
    "clsep": "printed is its supervised form, whose code was not read; without labels it is `clsep-unsup`",
    "sroberta": "a finished encoder: `cseb eval FOLDER --pooler mean`",
    "skip-thought": "learns from books read in order, for days",
}


def parse_methods(text: str) -> list[Method]:
    """Return the methods of a text such as `simcse,micse+recipe(steps=500)`. Raises: BadSpec, UnknownName."""
    tree = _tree(text)
    methods = [_method(node, text) for node in (tree.elts if isinstance(tree, ast.Tuple) else [tree])]
    _refuse_repeated([str(method) for method in methods], text)
    return methods


def parse_method(text: str) -> Method:
    """Return one method. Raises: BadSpec, UnknownName."""
    return _method(_tree(text), text)


def labels(text: str) -> list[str]:
    """Return the names of methods as `str(method)` writes them; their packages may be gone. Raises: BadSpec."""
    tree = _tree(text)
    names = []
    for node in tree.elts if isinstance(tree, ast.Tuple) else [tree]:
        (_, first), *others = _flat(node, text)
        names.append(_name(first, text) + "".join(str(Edit(sign, _part(piece, text))) for sign, piece in others))
    _refuse_repeated(names, text)
    return names


def parse_part(text: str) -> Part:
    """Return one part with its options, as `str(part)` writes it. Raises: BadSpec."""
    return _part(_tree(text), text)


def parse_scale(text: str) -> tuple[Edit, ...]:
    """Return `recipe(steps=60), queue(size=64)` as updates of parts that a method has. Raises: BadSpec, UnknownName."""
    if not text.strip():
        return ()
    tree = _tree(text)
    edits = [Edit("~", _part(node, text)) for node in (tree.elts if isinstance(tree, ast.Tuple) else [tree])]
    for edit in edits:
        preset(edit.part.name).updated(edit.part)
    return tuple(edits)


def _tree(text: str) -> ast.expr:
    if len(text) > LONGEST:
        raise BadSpec(f"a spec of {len(text)} characters is too long; at most {LONGEST} are read")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        shown = text if len(text) <= 80 else f"{text[:77]}..."
        at = (error.offset or 0) - 1 if isinstance(error, SyntaxError) else -1
        where = f", from {text.strip()[at : at + 20]!r} on" if 0 < at < len(text.strip()) else ""
        message = (
            f"{shown!r} is not a spec{where}; write it like 'simcse,micse-ami+recipe(steps=500)', in quotes for the "
            "shell, and names of files in quotes of their own"
        )
        raise BadSpec("; ".join([message, *left_out()])) from None


def _method(node: ast.expr, text: str) -> Method:
    signed = _flat(node, text)
    name = _name(signed[0][1], text)
    taken = 1
    # A hyphen may belong to a method's name (`msse-literal`) or take a part away (`micse-ami`): the longest name wins.
    for length in range(len(signed), 1, -1):
        tail = signed[1:length]
        if all(sign == "-" and isinstance(piece, ast.Name) for sign, piece in tail):
            joined = "-".join([name, *(_name(piece, text) for _, piece in tail)])
            if joined in METHODS:
                name, taken = joined, length
                break
    if name not in METHODS:
        raise _no_method("-".join([name, *_hyphened(signed[1:])]))
    method = method_named(name)
    edits = tuple(Edit(sign, _part(piece, text)) for sign, piece in signed[taken:])
    if not edits:
        return method
    _refuse_replaced(edits)
    method = replace(method, edits=edits)
    method.at(1.0)  # refuses a wrong name or option, whatever the fraction
    return method


def _refuse_repeated(names: Sequence[str], text: str) -> None:
    if repeated := [name for name, count in Counter(names).items() if count > 1]:
        raise BadSpec(f"method {repeated[0]!r} is named twice in {text!r}; name each once")


def _refuse_replaced(edits: Sequence[Edit]) -> None:
    """Refuse two parts for one slot: the second would replace the first, whose name the method would keep."""
    names: dict[str, str] = {}
    for name in (preset(edit.part.name).name for edit in edits if edit.sign != "-"):
        if (slot := slot_of(name)) not in SEVERAL and (first := names.setdefault(slot, name)) != name:
            raise BadSpec(f"{first} and {name} are both {slot}, of which a method has one; name one of them")


def _hyphened(signed: Sequence[tuple[str, ast.expr]]) -> Iterator[str]:
    """Yield the names that directly follow, each behind a hyphen: they may belong to a method's name."""
    for sign, piece in signed:
        if sign != "-" or not isinstance(piece, ast.Name):
            return
        yield piece.id


def _no_method(name: str) -> UnknownName:
    """Return the error for a name that no method begins with."""
    remarks = [f"{name} is a part: such as simcse+{name}"] if is_part(name) else []
    remarks += [f"{name} does not run: {NOT_OFFERED[name]}"] if name in NOT_OFFERED else []
    return UnknownName("method", name, METHODS, (*remarks, *left_out()))


def _flat(node: ast.expr, text: str) -> list[tuple[str, ast.expr]]:
    """Return `a + b - c` as [("+", a), ("+", b), ("-", c)]."""
    pieces: list[tuple[str, ast.expr]] = []
    while isinstance(node, ast.BinOp):
        if not isinstance(node.op, ast.Add | ast.Sub):
            raise BadSpec(f"in {text!r} only + and - may join parts, such as simcse+ami-infonce")
        pieces.append(("+" if isinstance(node.op, ast.Add) else "-", node.right))
        node = node.left
    return [("+", node), *reversed(pieces)]


def _name(node: ast.expr, text: str) -> str:
    if not isinstance(node, ast.Name):
        raise BadSpec(f"in {text!r} a method must start with its name; known: {', '.join(sorted(METHODS))}")
    return node.id


def _part(node: ast.expr, text: str) -> Part:
    if isinstance(node, ast.Name):
        return Part(node.id)
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        raise BadSpec("; ".join([f"in {text!r} a part must be a name or name(option=value)", *left_out()]))
    if node.args or any(keyword.arg is None for keyword in node.keywords):
        raise BadSpec(f"in {text!r} {node.func.id} has an option without a name; write {node.func.id}(option=value)")
    options = tuple((str(keyword.arg), _option(keyword.value, text)) for keyword in node.keywords)
    if twice := sorted(key for key, count in Counter(key for key, _ in options).items() if count > 1):
        raise BadSpec(f"in {text!r} {node.func.id} has {twice[0]} twice; give it one value")
    return Part(node.func.id, options)


def _option(node: ast.expr, text: str) -> Option:
    match node:
        case ast.Constant(value=bool() | int() | float() | str() | None as value):
            return _finite(value)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return _finite(-value)
        case ast.Name(id=word):
            return WORDS.get(word, word)
        case ast.Tuple(elts=items) | ast.List(elts=items):
            return tuple(_option(item, text) for item in items)
    found = ast.get_source_segment(text.strip(), node) or ast.unparse(node)
    raise BadSpec(
        f"an option is {found}; it must be a number, a word, a string in quotes (such as 'bert-base') or a tuple of "
        "them; nothing is evaluated"
    )


def _finite(value: Option) -> Option:
    """Return the value. Raises: BadSpec for a number that no array can hold, or that could not be read back."""
    if isinstance(value, float) and not math.isfinite(value):
        raise BadSpec(f"an option is {value}; finite numbers can be computed with, up to {sys.float_info.max:.2g}")
    if isinstance(value, int) and not -LARGEST <= value < LARGEST:
        raise BadSpec(f"an option is a whole number of about {math.log10(abs(value)):.0f} digits; up to 2**63 are read")
    return value
