"""Read what a part states of itself: version, options, data seen, files it reads.

A part, built in or of another package, is a class with these class attributes, all of them optional:

    version: int = 1               raised when its numbers change: older records then count as stale
    data_seen = "external"         data it uses: external, labels, generated; subset, of a pooler that counts tokens
    external = {"file": "file"}    options that name a file, a model, an encoder of the hub, or an embedder
    own = {"generator": "self"}    values of these options with which it uses nothing but the subset
    columns = (2, 3)               texts that a line of the corpus may hold, joined by TABs
    roles = ("anchor", "positive") what these are, where the corpus has named columns
    line_check = "module:function" refuses lines of a corpus that it cannot read; of a module without torch
    english = {"extra": ("all",)}  values of options with which it works for English only; {} with any
    requires = "a decoder"         what it asks for besides sentences and one encoder, in words
    preset = {"scale": 20.0}       what `+name` puts in, where that is not the constructor's own default
    unstated = {"batch": "any"}    values with which an option is not part of a job's identity, as it was added later
"""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any

from cseb.errors import BadSpec, UnknownName, did_you_mean, one_of
from cseb.methods import option_types as allowed
from cseb.registry import METHODS, PRESETS, SLOTS, left_out, package_of


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


PASSED = ("shape", "needs", "run_steps", "run_seed")  # what a constructor gets if it has a parameter of this name
KINDS = ("file", "encoder", "embedder")
SEEN = ("external", "labels", "generated", "subset")
TABLE = Path(__file__).with_name("facts.json")  # of the built-in parts, so that listing them does not import torch


class Missing:
    """Stands for a default that is not there."""

    def __repr__(self) -> str:
        return "none"


MISSING = Missing()


@dataclass(frozen=True, slots=True)
class Option:
    """One option of a part. kind: as `cseb.methods.option_types` has it. default: MISSING where it must be given."""

    name: str
    kind: Any = None
    default: Any = MISSING

    @property
    def description(self) -> str:
        """The allowed values, in words; "" where only the part knows."""
        return allowed.description(self.kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What a part states. where: module:attribute; package, release: its package and version, "" for built-in parts."""

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
    line_check: str = ""
    requires: str = ""
    preset: Mapping[str, Any] = field(default_factory=dict)
    unstated: Mapping[str, Any] = field(default_factory=dict)
    english: Mapping[str, tuple[Any, ...]] | None = None

    @property
    def module(self) -> str:
        """The module with its code."""
        return self.where.partition(":")[0]

    @property
    def third_party(self) -> bool:
        """Whether it is of another package."""
        return bool(self.package)

    @property
    def source(self) -> str:
        """The source that its docstring names behind "Source:"; "" if it names none."""
        source = " ".join(self.text.split()).partition("Source: ")[2]
        return source.partition(" Raises:")[0].rstrip()

    def defaults(self) -> tuple[tuple[str, Any], ...]:
        """Return every option that has a default and is stated, with that, in the order of the constructor."""
        defaults = {option.name: option.default for option in self.options if option.default is not MISSING}
        return self.stated(defaults | dict(self.preset))

    def stated(self, options: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
        """Return these options in the order of the constructor, without those at a value that is not stated."""
        names = [option.name for option in self.options if option.name in options]
        return tuple((name, options[name]) for name in names if self.unstated.get(name, MISSING) != options[name])

    def check(self, values: Mapping[str, Any]) -> None:
        """Raise BadSpec if options are unknown, lacking, or of a kind that their annotations do not allow."""
        options = {option.name: option for option in self.options}
        for name in values:
            if name not in options:
                raise BadSpec(f"{self.name} has no option {name!r}; {did_you_mean(name, options)}")
        for name, option in options.items():
            if name in values:
                allowed.check(option.kind, values[name], f"{self.name}: {name}")
            elif option.default is MISSING and name not in self.preset:
                raise BadSpec(f"{self.name} needs a value for {name}; write {self.name}({name}=...)")


# What a class may state: every field behind its docstring and its options.
STATED = [field.name for field in fields(Facts)[7:]]


@cache
def facts(name: str) -> Facts:
    """Return what the part of this name states of itself.

    Built-in parts are looked up in facts.json, which a test compares with their classes; third-party parts, and
    built-in ones that are not in the table yet, are imported. Raises: UnknownName, BadSpec.
    """
    slot = slot_of(name)
    own = SLOTS[slot].builtin.get(name)
    if own is not None and name in _table():
        return _from_table(name, slot, own, _table()[name])
    return imported(name)


def imported(name: str) -> Facts:
    """Return the same, read from the class itself. Raises: UnknownName, BadSpec."""
    slot = slot_of(name)
    own = SLOTS[slot].builtin.get(name)
    package, release = ("", "") if own else package_of(SLOTS[slot].kind, name)
    stated = _stated(SLOTS[slot][name])
    if slot == "terms" and all(option.name != "weight" for option in stated["options"]):
        stated["options"] = (Option("weight", float, 1.0), *stated["options"])  # every term has one
    where = own or SLOTS[slot].targets[name]
    return _checked(Facts(name=name, slot=slot, where=where, package=package, release=release, **stated))


@cache
def _table() -> dict[str, dict[str, Any]]:
    table: dict[str, dict[str, Any]] = json.loads(TABLE.read_text(encoding="utf-8"))
    return table


def _from_table(name: str, slot: str, where: str, row: Mapping[str, Any]) -> Facts:
    stated = {key: _with_tuples(value) for key, value in row.items() if key != "options"}
    options = tuple(
        Option(option["name"], allowed.from_text(option["kind"]), _with_tuples(option.get("default", MISSING)))
        for option in row.get("options", ())
    )
    return Facts(name=name, slot=slot, where=where, options=options, **stated)


def _with_tuples(value: Any) -> Any:
    """Return a value of JSON with tuples in place of lists."""
    if isinstance(value, list):
        return tuple(map(_with_tuples, value))
    return {key: _with_tuples(inner) for key, inner in value.items()} if isinstance(value, dict) else value


def _checked(part: Facts) -> Facts:
    """Return the facts of a part. Raises: BadSpec if what a third-party part states of itself is not allowed."""
    what = f"{part.slot} {part.name!r} of {part.package or 'cseb'} ({part.where})"
    options = {option.name for option in part.options}

    def wrong(attribute: str, value: object, needed: str) -> BadSpec:
        return BadSpec(f"{what}: its {attribute} is {value!r}; {needed}")

    if isinstance(part.version, bool) or not isinstance(part.version, int) or part.version < 1:
        raise wrong("version", part.version, "a whole number of at least 1 is needed")
    if part.data_seen:
        one_of(SEEN, part.data_seen, f"{what}: its data_seen")
    for attribute in ("external", "own", "preset", "unstated"):
        value = getattr(part, attribute)
        if not isinstance(value, Mapping) or not set(value) <= options:
            raise wrong(attribute, value, f"a dictionary by option is needed; options: {', '.join(sorted(options))}")
    for kind in part.external.values():
        one_of(KINDS, kind, f"{what}: its external")
    for attribute in ("columns", "roles"):
        if not isinstance(getattr(part, attribute), tuple):
            raise wrong(attribute, getattr(part, attribute), "a tuple is needed")
    for key, value in (*part.preset.items(), *((option.name, option.default) for option in part.options)):
        if not _is_option(value):
            raise wrong(f"value of {key}", value, "a finite number, a word, None or a tuple of them can be recorded")
    return part


def _is_option(value: object) -> bool:
    if isinstance(value, tuple):
        return all(map(_is_option, value))
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or value is MISSING or isinstance(value, bool | int | str)


def _stated(made: Any) -> dict[str, Any]:
    """Return what a class states of itself. Raises: BadSpec if it takes options without names."""
    stated: dict[str, Any] = {name: getattr(made, name) for name in STATED if hasattr(made, name)}
    stated["text"] = inspect.getdoc(made) or ""
    start: Any = getattr(made, "__init__", object.__init__) if isinstance(made, type) else made
    # the constructor of nn.Module takes anything
    takes_nothing = start is object.__init__ or str(getattr(start, "__module__", "")).startswith("torch.")
    parameters = {} if takes_nothing else dict(inspect.signature(made).parameters)
    for name, parameter in parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise BadSpec(f"{made!r} takes any number of options as {name}; name each, so that it is checked and kept")
    names = getattr(start, "__globals__", {})
    stated["options"] = tuple(
        Option(
            name,
            None if parameter.annotation is parameter.empty else allowed.evaluated(parameter.annotation, names),
            MISSING if parameter.default is parameter.empty else parameter.default,
        )
        for name, parameter in parameters.items()
        if name not in PASSED
    )
    return stated
