"""What a part states of itself: version, options, data seen, files it reads. Found in its source text alone.

A part, built in or of another package, is a class with these class attributes, all of them optional:

    version: int = 1               raised when its numbers change: older records then count as stale
    data_seen = "external"         what it looks at: external, labels, generated; subset, of a pooler that counts tokens
    external = {"file": "file"}    options that name a file, a model, an encoder of the hub, or an embedder
    own = {"generator": "self"}    values of these options with which it looks at nothing but the subset
    columns = (2, 3)               texts that a line of the corpus may hold, joined by TABs
    roles = ("anchor", "positive") what these are, where the corpus has named columns
    requires = "a decoder"         what it asks for besides sentences and one encoder, in words
    uses = ("infonce",)            parts that it makes use of by name
    preset = {"scale": 20.0}       what `+name` puts in, where that is not the constructor's own default
"""

from __future__ import annotations

import ast
import inspect
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from cseb.errors import BadSpec, did_you_mean, one_of
from cseb.methods import option_types as allowed
from cseb.methods import source_code as sources
from cseb.registry import SLOTS, package_of, slot_of

TOLD = ("shape", "needs", "run_steps", "run_seed")  # what a constructor is told when it asks by name
STATED = ("version", "data_seen", "external", "own", "columns", "roles", "requires", "uses", "preset")
KINDS = ("file", "model", "encoder", "embedder")
SEEN = ("external", "labels", "generated", "subset")
HOME = "cseb"


class Missing:
    """Stands for a default that is not there."""

    def __repr__(self) -> str:
        return "none"


MISSING = Missing()


@dataclass(frozen=True, slots=True)
class Option:
    """One option of a part.

    kind: what it may be, as `cseb.methods.option_types` has it; default: MISSING where it must be given.
    """

    name: str
    kind: Any = None
    default: Any = MISSING

    @property
    def description(self) -> str:
        """What it may be, in words; "" where only the part knows."""
        return allowed.description(self.kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What is known of a part. where: module:attribute; package: name and version, "" for parts of cseb itself."""

    name: str
    slot: str
    where: str
    package: str = ""
    release: str = ""
    text: str = ""  # the docstring
    options: tuple[Option, ...] = ()
    version: int = 1
    data_seen: str = ""
    external: Mapping[str, str] = field(default_factory=dict)
    own: Mapping[str, Any] = field(default_factory=dict)
    columns: tuple[int, ...] = ()
    roles: tuple[str, ...] = ()
    requires: str = ""
    uses: tuple[str, ...] = ()
    preset: Mapping[str, Any] = field(default_factory=dict)

    @property
    def module(self) -> str:
        """Where its code starts."""
        return self.where.partition(":")[0]

    @property
    def foreign(self) -> bool:
        """Whether another package brings it."""
        return bool(self.package)

    @property
    def source(self) -> str:
        """Where it comes from, as its docstring has it behind "Source:"; "" where it does not say."""
        said = " ".join(self.text.split()).partition("Source: ")[2]
        return said.partition(" Raises:")[0].rstrip()

    def defaults(self) -> tuple[tuple[str, Any], ...]:
        """Every option that has a value without being given one, in the order of the constructor."""
        held = {one.name: one.default for one in self.options if one.default is not MISSING} | dict(self.preset)
        return tuple((one.name, held[one.name]) for one in self.options if one.name in held)

    def check(self, given: Mapping[str, Any]) -> None:
        """Raise BadSpec if options are unknown, lacking, or of a kind that their annotations do not allow."""
        known = {one.name: one for one in self.options}
        for name in given:
            if name not in known:
                raise BadSpec(f"{self.name} has no option {name!r}; {did_you_mean(name, known)}")
        for name, one in known.items():
            if name in given:
                allowed.check(one.kind, given[name], f"{self.name}: {name}")
            elif one.default is MISSING and name not in self.preset:
                raise BadSpec(f"{self.name} needs a value for {name}; write {self.name}({name}=...)")


@cache
def facts(name: str, importing: bool = True) -> Facts:
    """What the part of this name states of itself.

    A part whose source text does not tell is imported, if it is another package's and `importing` allows it.
    Raises: UnknownName, BadSpec.
    """
    slot = slot_of(name)
    own = SLOTS[slot].builtin.get(name)
    where = own or SLOTS[slot].targets[name]
    package, release = ("", "") if own else package_of(SLOTS[slot].kind, name)
    known: dict[str, Any] = {"name": name, "slot": slot, "where": where, "package": package, "release": release}
    found = _read(where, bool(package))
    if found is None:
        if package and not importing:
            return Facts(**known)
        found = _imported(SLOTS[slot][name])
    return _checked(Facts(**known, **_weighted(found, slot, bool(package))))


def _weighted(found: dict[str, Any], slot: str, foreign: bool) -> dict[str, Any]:
    """Terms have a weight, whether they know of it or not; where they do not, it stands before their own options."""
    given: tuple[Option, ...] = found["options"]
    if slot == "terms" and all(one.name != "weight" for one in given):
        found["options"] = (Option("weight", float, 1.0), *given)
    return found


def _checked(found: Facts) -> Facts:
    """Raises: BadSpec if what another package's part states of itself cannot be."""
    what = f"{found.slot} {found.name!r} of {found.package or HOME} ({found.where})"
    known = {one.name for one in found.options}

    def wrong(attribute: str, value: object, needed: str) -> BadSpec:
        return BadSpec(f"{what}: its {attribute} is {value!r}; {needed}")

    if isinstance(found.version, bool) or not isinstance(found.version, int) or found.version < 1:
        raise wrong("version", found.version, "a whole number of at least 1 is needed")
    if found.data_seen:
        one_of(SEEN, found.data_seen, f"{what}: its data_seen")
    for attribute in ("external", "own", "preset"):
        held = getattr(found, attribute)
        if not isinstance(held, Mapping) or not set(held) <= known:
            raise wrong(attribute, held, f"a dictionary by option is needed; options: {', '.join(sorted(known))}")
    for kind in found.external.values():
        one_of(KINDS, kind, f"{what}: its external")
    for attribute in ("columns", "roles", "uses"):
        if not isinstance(getattr(found, attribute), tuple):
            raise wrong(attribute, getattr(found, attribute), "a tuple is needed")
    for key, value in (*found.preset.items(), *((one.name, one.default) for one in found.options)):
        if not _is_option(value):
            raise wrong(f"value of {key}", value, "a finite number, a word, None or a tuple of them can be recorded")
    return found


def _is_option(value: object) -> bool:
    if isinstance(value, tuple):
        return all(map(_is_option, value))
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or value is MISSING or isinstance(value, bool | int | str)


def _read(where: str, foreign: bool) -> dict[str, Any] | None:
    """What the source text of a class tells; None if it does not tell all."""
    module, _, attribute = where.partition(":")
    try:
        classes = sources.lineage(module, attribute)
        if classes is None:
            return None
        found: dict[str, Any] = {"text": ast.get_docstring(classes[0][1]) or ""}
        for home, definition in reversed(classes):
            found |= _stated(home, definition)
        return found | {"options": _options(classes)}
    except ValueError:
        return None


def _stated(module: str, definition: ast.ClassDef) -> dict[str, Any]:
    """Class attributes that state something. Raises: ValueError if their values are not to be read."""
    found = {}
    for statement in definition.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name in STATED:
                found[name] = sources.literal(value, module)
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value) if name in STATED:
                found[name] = sources.literal(value, module)
    return found


def _options(classes: list[tuple[str, ast.ClassDef]]) -> tuple[Option, ...]:
    """Those of the constructor, or of the fields of a dataclass. Raises: ValueError if they are not to be read."""
    for home, definition in classes:
        for statement in definition.body:
            if isinstance(statement, ast.FunctionDef) and statement.name == "__init__":
                if statement.decorator_list:
                    raise ValueError(definition.name)
                return _parameters(statement.args, home)
        if any(_is_dataclass(one) for one in definition.decorator_list):
            return tuple(
                Option(one.target.id, allowed.read(one.annotation, _aliases(home)), _default(one.value, home))
                for one in definition.body
                if isinstance(one, ast.AnnAssign)
                and isinstance(one.target, ast.Name)
                and "ClassVar" not in ast.dump(one.annotation)
            )
    return ()


def _is_dataclass(decorator: ast.expr) -> bool:
    match decorator:
        case ast.Name(id="dataclass") | ast.Call(func=ast.Name(id="dataclass")):
            return True
        case ast.Attribute(attr="dataclass") | ast.Call(func=ast.Attribute(attr="dataclass")):
            return True
    return False


def _parameters(args: ast.arguments, module: str) -> tuple[Option, ...]:
    if args.vararg or args.kwarg:
        raise ValueError("any number of options")
    positional = [*args.posonlyargs, *args.args][1:]
    given = args.defaults[-len(positional) :] if positional else []
    defaults: list[ast.expr | None] = [*[None] * (len(positional) - len(given)), *given]
    pairs = [*zip(positional, defaults, strict=True), *zip(args.kwonlyargs, args.kw_defaults, strict=True)]
    return tuple(
        Option(one.arg, allowed.read(one.annotation, _aliases(module)), _default(default, module))
        for one, default in pairs
        if one.arg not in TOLD
    )


def _aliases(module: str) -> allowed.Lookup:
    """What a name of this module stands for in its annotations; None for classes."""

    def lookup(name: str) -> ast.expr | None:
        found = sources.named(module, name)
        return None if found is None or isinstance(found[1], ast.ClassDef) else found[1]

    return lookup


def _default(value: ast.expr | None, module: str) -> Any:
    return MISSING if value is None else sources.literal(value, module)


def _imported(made: Any) -> dict[str, Any]:
    """The same from a live class. Raises: BadSpec if it takes options without names."""
    found: dict[str, Any] = {name: getattr(made, name) for name in STATED if hasattr(made, name)}
    found["text"] = inspect.getdoc(made) or ""
    starts = getattr(made, "__init__", object.__init__)
    nothing = starts is object.__init__ or str(getattr(starts, "__module__", "")).startswith(
        "torch."
    )  # nn.Module's own takes anything
    parameters = {} if nothing else dict(inspect.signature(made).parameters)
    for name, one in parameters.items():
        if one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD):
            raise BadSpec(f"{made!r} takes any number of options as {name}; name each, so that it is checked and kept")
    found["options"] = tuple(
        Option(name, _kind(one.annotation), MISSING if one.default is one.empty else one.default)
        for name, one in parameters.items()
        if name not in TOLD
    )
    return found


def _kind(annotation: Any) -> Any:
    """Of a live annotation: text is read, known types stand for themselves, all else says nothing."""
    if annotation is inspect.Parameter.empty:
        return None
    if isinstance(annotation, str):
        try:
            return allowed.read(ast.parse(annotation, mode="eval").body)
        except SyntaxError:
            return None
    return annotation
