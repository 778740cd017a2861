"""What a method is, as data, and the one grammar that reads it: `micse-ami+recipe(steps=500)`."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from cseb.errors import BadSpec, UnknownName, did_you_mean
from cseb.registry import DATA_SEEN, METHODS, OUTSIDE, OWN, PRESETS, SLOTS, VERSIONS, slot_of

Option = bool | int | float | str | None | tuple[Any, ...]
SEVERAL = ("terms",)  # slots that hold any number of parts; the others hold one
OPTIONAL = ("compose", "regulariser", "memory", "stages", "network", "post")  # slots that may hold none
WORDS: dict[str, bool | None] = {"true": True, "false": False, "none": None}
LONGEST = 10_000  # characters of a spec


@dataclass(frozen=True, slots=True)
class Part:
    """A named building block with the options it is built from."""

    name: str
    options: tuple[tuple[str, Option], ...] = ()

    def __str__(self) -> str:
        return f"{self.name}({', '.join(f'{key}={value!r}' for key, value in self.options)})"

    def updated(self, changes: Part) -> Part:
        """This part with the options of `changes` in place of its own. Raises: BadSpec on an option it lacks."""
        options = dict(self.options)
        for key, value in changes.options:
            if key not in options:
                raise BadSpec(f"{self.name} has no option {key!r}; {did_you_mean(key, options)}")
            options[key] = value
        return Part(self.name, tuple(options.items()))


def part(name: str, **options: Option) -> Part:
    """A part as specs write it: `part("ami", weight=1e-3)`."""
    return Part(name, tuple(options.items()))


@dataclass(frozen=True, slots=True)
class Edit:
    """One `+part(...)` or `-part` behind a method's name.

    sign: "+" updates the part of that name, or puts it in; "-" takes it away; "~" updates it where it is present and
    leaves other methods alone (how a benchmark scales parts for all its methods at once).
    """

    sign: str
    part: Part

    def __str__(self) -> str:
        shown = self.part.name if not self.part.options else str(self.part).replace(", ", ",")
        return f"{self.sign}{shown}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """A training method: parts in slots, and what a reader must know to trust it.

    source: paper with equation or table. deviations: where paper, released code and this spec disagree. per_fraction:
    (upper bound, parts) pairs, rising: the options a paper retunes; the first bound that is not below the fraction of
    the corpus counts. edits: what a user typed behind the name; they win over everything else.
    """

    name: str
    source: str
    views: Part
    pooler: Part
    head: Part
    compose: Part | None = None
    regulariser: Part | None = None
    memory: Part | None = None
    stages: Part | None = None
    network: Part | None = None
    post: Part | None = None
    terms: tuple[Part, ...]
    recipe: Part
    per_fraction: tuple[tuple[float, tuple[Part, ...]], ...] = ()
    deviations: tuple[str, ...] = ()
    edits: tuple[Edit, ...] = ()

    def __str__(self) -> str:
        """The text that `parse_method` reads back to this very method."""
        return self.name + "".join(map(str, self.edits))

    def parts(self) -> Iterator[Part]:
        """All parts, in the order of the slots."""
        for slot in SLOTS:
            held = getattr(self, slot)
            yield from held if slot in SEVERAL else [held] if held is not None else []

    def at(self, fraction: float, scale: Sequence[Edit] = ()) -> Method:
        """The method as trained on this share of the corpus, every option settled.

        Order: the spec, its own per_fraction, the parts a user put in or took away, the benchmark's `scale` of what is
        then there, and once more the options a user typed: they win over everything. Raises: BadSpec.
        """
        tuned = next((parts for bound, parts in self.per_fraction if fraction <= bound), ())
        typed = (Edit("~", edit.part) for edit in self.edits if edit.sign == "+")
        edits = (*(Edit("~", part) for part in tuned), *self.edits, *scale, *typed)
        method = replace(self, per_fraction=(), edits=())
        for edit in edits:
            method = _apply(method, edit)
        return method

    def resolved(self) -> str:
        """Every part with every option and version: what the identity of a job is made of."""
        return " ".join(f"{part}@{VERSIONS.get(part.name, 1)}" for part in self.parts())

    def data_seen(self) -> tuple[str, ...]:
        """What training looks at besides the encoder's own pre-training: `subset`, `external`, ..."""
        outside = (part for part in self.parts() if OWN.get(part.name) not in part.options)
        seen = {"subset", *(DATA_SEEN[part.name] for part in outside if part.name in DATA_SEEN)}
        return tuple(sorted(seen)) if self.terms or self.post else ()

    def outside(self) -> tuple[tuple[str, str], ...]:
        """(part, file or model from elsewhere that it names), each once: ("rtd", "distilbert-base-uncased")."""
        named = (
            (part.name, str(value))
            for part in self.parts()
            for key, value in part.options
            if key in OUTSIDE.get(part.name, ()) and value and OWN.get(part.name) != (key, value)
        )
        return tuple(dict.fromkeys(named))


def parse_methods(text: str) -> list[Method]:
    """`simcse,micse+recipe(steps=500)` as methods. Raises: BadSpec, UnknownName."""
    tree = _tree(text)
    nodes = tree.elts if isinstance(tree, ast.Tuple) else [tree]
    methods = [_method(node, text) for node in nodes]
    names = [str(method) for method in methods]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise BadSpec(f"method {twice[0]!r} is asked for twice in {text!r}; name each once")
    return methods


def parse_method(text: str) -> Method:
    """One method. Raises: BadSpec, UnknownName."""
    return _method(_tree(text), text)


def parse_part(text: str) -> Part:
    """One part with its options, as `str(part)` writes it. Raises: BadSpec."""
    return _part(_tree(text), text)


def parse_scale(text: str) -> tuple[Edit, ...]:
    """`recipe(steps=60), queue(size=64)` as updates of the parts that a method has. Raises: BadSpec, UnknownName."""
    if not text.strip():
        return ()
    tree = _tree(text)
    edits = [Edit("~", _part(node, text)) for node in (tree.elts if isinstance(tree, ast.Tuple) else [tree])]
    for edit in edits:
        _preset(edit.part.name).updated(edit.part)
    return tuple(edits)


def _tree(text: str) -> ast.expr:
    if len(text) > LONGEST:
        raise BadSpec(f"a spec of {len(text)} characters is too long; at most {LONGEST} are read")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        shown = text if len(text) <= 80 else f"{text[:77]}..."
        raise BadSpec(
            f"{shown!r} is not a spec; write it like 'simcse,micse-ami+recipe(steps=500)', in quotes for the shell"
        ) from None


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
    method: Method = METHODS[name]
    edits = tuple(Edit(sign, _part(piece, text)) for sign, piece in signed[taken:])
    method = replace(method, edits=edits)
    method.at(1.0)  # a wrong name or option is answered here, whatever the fraction
    return method


def _flat(node: ast.expr, text: str) -> list[tuple[str, ast.expr]]:
    """`a + b - c` as [("+", a), ("+", b), ("-", c)]."""
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
        raise BadSpec(f"in {text!r} a part must be a name or name(option=value)")
    if node.args or any(keyword.arg is None for keyword in node.keywords):
        raise BadSpec(f"in {text!r} {node.func.id} has an option without a name; write {node.func.id}(option=value)")
    options = tuple((str(keyword.arg), _option(keyword.value, text)) for keyword in node.keywords)
    return Part(node.func.id, options)


def _option(node: ast.expr, text: str) -> Option:
    match node:
        case ast.Constant(value=bool() | int() | float() | str() | None as value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return -value
        case ast.Name(id=word):
            return WORDS.get(word, word)
        case ast.Tuple(elts=items) | ast.List(elts=items):
            return tuple(_option(item, text) for item in items)
    raise BadSpec(
        f"in {text!r} an option must be a number, a word, a string in quotes (such as 'bert-base') or a tuple of them; "
        "nothing is evaluated"
    )


def _preset(name: str) -> Part:
    """What `+name` puts in: the preset, or, for a part of another package, the part with its own defaults."""
    if name in PRESETS:
        preset: Part = PRESETS[name]
        return preset
    slot_of(name)
    return Part(name)


def _apply(method: Method, edit: Edit) -> Method:
    preset = _preset(edit.part.name)
    slot = slot_of(preset.name)
    held: tuple[Part, ...] = getattr(method, slot) if slot in SEVERAL else (getattr(method, slot),)
    found = [here for here in held if here is not None and here.name == preset.name]
    if edit.sign == "-":
        return _put(method, slot, _without(method, slot, held, preset.name))
    if found:
        new = Part(preset.name, edit.part.options)
        held = tuple(here.updated(new) if here in found else here for here in held)
    elif edit.sign == "~":
        return method
    else:
        ready = preset.updated(edit.part) if preset.options or not edit.part.options else edit.part
        held = (*held, ready) if slot in SEVERAL else (ready,)
    return _put(method, slot, held if slot in SEVERAL else held[0])


def _put(method: Method, slot: str, held: tuple[Part, ...] | Part | None) -> Method:
    changes: dict[str, Any] = {slot: held}
    return replace(method, **changes)


def _without(method: Method, slot: str, held: tuple[Part, ...], name: str) -> tuple[Part, ...] | None:
    if slot not in (*SEVERAL, *OPTIONAL):
        raise BadSpec(
            f"{method.name} cannot do without its {slot}; put another one in its place, such as +mean or +none"
        )
    left = tuple(here for here in held if here is not None and here.name != name)
    if len(left) == len([here for here in held if here is not None]):
        present = [here.name for here in method.parts()]
        raise UnknownName(f"part of {method.name}", name, present)
    return left if slot in SEVERAL else None
