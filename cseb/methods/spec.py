"""What a method is, as data, and the one grammar that reads it: `micse-ami+recipe(steps=500)`."""

from __future__ import annotations

import ast
import difflib
import math
import sys
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from cseb.errors import BadSpec, UnknownName, did_you_mean, shortened
from cseb.methods.part_facts import facts
from cseb.registry import METHODS, PRESETS, SLOTS, left_out, slot_of

Option = bool | int | float | str | None | tuple[Any, ...]
SEVERAL = ("terms",)  # slots that hold any number of parts; the others hold one
OPTIONAL = ("compose", "regulariser", "memory", "stages", "network", "post")  # slots that may hold none
WORDS: dict[str, bool | None] = {"true": True, "false": False, "none": None}
LONGEST = 10_000  # characters of a spec
LARGEST = 2**63  # of a whole number: what arrays and random generators can hold


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
        method = _stated(replace(self, per_fraction=(), edits=()))
        for edit in edits:
            method = _apply(method, edit)
        return method

    def resolved(self) -> str:
        """Every part with every option and version: what the identity of a job is made of."""
        return " ".join(f"{part}@{facts(part.name).version}" for part in self.parts())

    def data_seen(self) -> tuple[str, ...]:
        """What training looks at besides the encoder's own pre-training: `subset`, `external`, ..."""
        found = {"subset"}
        for part in self.parts():
            told = facts(part.name)
            if told.data_seen and not any(option in part.options for option in told.own.items()):
                found.add(told.data_seen)
        return tuple(sorted(found)) if self.terms or self.post else ()

    def external_inputs(self) -> tuple[tuple[str, str, str], ...]:
        """(part, option, file or model from elsewhere that it names), each once: ("rtd", "generator", "distilbert")."""
        named = (
            (part.name, key, str(value))
            for part in self.parts()
            for told in [facts(part.name)]
            for key, value in part.options
            if key in told.external and value and not (key in told.own and told.own[key] == value)
        )
        return tuple(dict.fromkeys(named))

    def check(self) -> None:
        """Raise BadSpec if an option is unknown, lacking or not of the kind its part allows."""
        for part in self.parts():
            facts(part.name).check(dict(part.options))


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


def labels(text: str) -> list[str]:
    """Methods as `str(method)` has them, looked up nowhere: the packages of their names need not be there.

    Raises: BadSpec.
    """
    tree = _tree(text)
    found = []
    for node in tree.elts if isinstance(tree, ast.Tuple) else [tree]:
        (_, first), *others = _flat(node, text)
        found.append(_name(first, text) + "".join(str(Edit(sign, _part(piece, text))) for sign, piece in others))
    return found


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
        preset_of(edit.part.name).updated(edit.part)
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
        said = f"{shown!r} is not a spec; write it like 'simcse,micse-ami+recipe(steps=500)', in quotes for the shell"
        raise BadSpec("; ".join([said, *left_out()])) from None


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
    method = replace(method, edits=edits)
    method.at(1.0)  # a wrong name or option is answered here, whatever the fraction
    return method


def method_named(name: str) -> Method:
    """The method of the registry. Raises: UnknownName; BadSpec if another package's is not what its name says."""
    method: Method = METHODS[name]
    if not isinstance(method, Method):
        raise BadSpec(
            f"method {name!r} is {shortened(method)} ({METHODS.targets[name]}); a cseb.methods.spec.Method is needed"
        )
    if method.name != name:
        where = METHODS.targets[name]
        raise BadSpec(f"method {name!r} says name={method.name!r} ({where}); its entry point and its name must agree")
    return method


def _hyphened(signed: Sequence[tuple[str, ast.expr]]) -> Iterator[str]:
    """The names that directly follow, each behind a hyphen: they may belong to a method's name."""
    for sign, piece in signed:
        if sign != "-" or not isinstance(piece, ast.Name):
            return
        yield piece.id


def _no_method(name: str) -> UnknownName:
    """What to say of a name that no method begins with."""
    parts = {*PRESETS, *(known for registry in SLOTS.values() for known in registry)}
    remarks = [f"{name} is a part: such as simcse+{name}"] if name in parts else []
    return UnknownName("method", name, METHODS, (*remarks, *left_out()))


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
    raise BadSpec(
        f"in {text!r} an option must be a number, a word, a string in quotes (such as 'bert-base') or a tuple of them; "
        "nothing is evaluated"
    )


def _finite(value: Option) -> Option:
    """Raises: BadSpec for a number that no array can hold, or that could not be read back."""
    if isinstance(value, float) and not math.isfinite(value):
        raise BadSpec(f"an option is {value}; finite numbers can be computed with, up to {sys.float_info.max:.2g}")
    if isinstance(value, int) and not -LARGEST <= value < LARGEST:
        raise BadSpec(f"an option is a whole number of about {math.log10(abs(value)):.0f} digits; up to 2**63 are read")
    return value


def preset_of(name: str) -> Part:
    """What `+name` puts in: the preset, or, for a part of another package, the part with its own defaults.

    An option that has none is left out, and must be given.
    """
    if name in PRESETS:
        preset: Part = PRESETS[name]
        if not isinstance(preset, Part):
            raise BadSpec(
                f"part {name!r} is {shortened(preset)} ({PRESETS.targets[name]}); a cseb.methods.spec.Part is needed"
            )
        return preset
    return Part(name, facts(name).defaults())


def _filled(preset: Part, changes: Part) -> Part:
    """The preset with these options in place of its own. Raises: BadSpec if one is unknown, or has no value at all."""
    order = [one.name for one in facts(preset.name).options]
    held = dict(preset.options) | dict(changes.options)
    for key in held:
        if key not in order:
            raise BadSpec(f"{preset.name} has no option {key!r}; {did_you_mean(key, order)}")
    for key in order:
        if key not in held:
            raise BadSpec(f"{preset.name} needs a value for {key}; write {preset.name}({key}=...)")
    return Part(preset.name, tuple((key, held[key]) for key in order))


def _apply(method: Method, edit: Edit) -> Method:
    preset = _taken(method, edit.part.name) if edit.sign == "-" else preset_of(edit.part.name)
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
        ready = (preset.updated if preset.name in PRESETS else partial(_filled, preset))(edit.part)
        held = (*held, ready) if slot in SEVERAL else (ready,)
    return _put(method, slot, held if slot in SEVERAL else held[0])


def _stated(method: Method) -> Method:
    """The method with every option of other packages' parts written out: their defaults are part of what is run."""
    for slot in SLOTS:
        held: tuple[Part, ...] = getattr(method, slot) if slot in SEVERAL else (getattr(method, slot),)
        if any(part is not None and facts(part.name).foreign for part in held):
            full = tuple(_filled(preset_of(part.name), part) if facts(part.name).foreign else part for part in held)
            method = _put(method, slot, full if slot in SEVERAL else full[0])
    return method


def _taken(method: Method, name: str) -> Part:
    """The part that `-name` takes away. Raises: UnknownName, as a hyphen may have been meant for a method's name."""
    if name in PRESETS or any(name in registry for registry in SLOTS.values()):
        return preset_of(name)
    held = [part.name for part in method.parts()]
    whole = f"{method.name}-{name}"
    meant = difflib.get_close_matches(whole, METHODS, n=3)
    methods = [f"nor a method {whole!r}; did you mean {' or '.join(meant)}?"] if meant else []
    raise UnknownName(f"part of {method.name}", name, held, (*methods, *left_out()))


def _put(method: Method, slot: str, held: tuple[Part, ...] | Part | None) -> Method:
    changes: dict[str, Any] = {slot: held}
    return replace(method, **changes)


def _without(method: Method, slot: str, held: tuple[Part, ...], name: str) -> tuple[Part, ...] | None:
    if slot not in (*SEVERAL, *OPTIONAL):
        others = [f"+{one}" for one in SLOTS[slot] if one != name][:4]
        instead = (
            f"put another in its place, such as {' or '.join(others)}" if others else f"change it with +{name}(...)"
        )
        raise BadSpec(f"{method.name} cannot do without its {slot}; {instead}")
    left = tuple(here for here in held if here is not None and here.name != name)
    if len(left) == len([here for here in held if here is not None]):
        present = [here.name for here in method.parts()]
        raise UnknownName(f"part of {method.name}", name, present)
    return left if slot in SEVERAL else None
