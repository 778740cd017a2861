"""What a method is, as data: parts in slots, and the edits that change them. `grammar` reads it from text."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from cseb.errors import BadResults, BadSpec, UnknownName, did_you_mean, shortened
from cseb.methods.part_facts import facts, is_part, slot_of
from cseb.registry import METHODS, PRESETS, SLOTS, left_out

Option = bool | int | float | str | None | tuple[Any, ...]
SEVERAL = ("terms",)  # slots for any number of parts; the others are for one
# Slots that may be empty.
OPTIONAL = ("compose", "regulariser", "memory", "stages", "network", "tuning", "wrapper", "mixer", "post")


@dataclass(frozen=True, slots=True)
class Part:
    """A named building block with the options it is built from."""

    name: str
    options: tuple[tuple[str, Option], ...] = ()

    def __str__(self) -> str:
        return f"{self.name}({', '.join(f'{key}={value!r}' for key, value in self.options)})"

    def updated(self, changes: Part) -> Part:
        """This part with the options of `changes` in place of its own. Raises: BadSpec on an option it lacks."""
        facts_of_part = facts(self.name)
        options = dict(facts_of_part.unstated) | dict(self.options)
        for key, value in changes.options:
            if key not in options:
                raise BadSpec(f"{self.name} has no option {key!r}; {did_you_mean(key, options)}")
            options[key] = value
        return Part(self.name, facts_of_part.stated(options))


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
    """A training method: parts in slots, with its source and its differences from the paper.

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
    tuning: Part | None = None
    wrapper: Part | None = None
    mixer: Part | None = None
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
        """Yield all parts, in the order of the slots."""
        for slot in SLOTS:
            yield from _in_slot(self, slot)

    def at(self, fraction: float, scale: Sequence[Edit] = (), steps: int | None = None) -> Method:
        """Return the method as trained on this fraction of the corpus, with every option resolved. Raises: BadSpec.

        Order: the spec, its own per_fraction, the parts that a user added or removed, the benchmark's `scale` and
        `steps` for the parts that are then there, and once more the options that a user typed, which win. Of a method
        without terms, `scale` changes only `post`. `steps` are those of the training, of the models trained first, and
        of what is fitted afterwards; the warm-up stays the same fraction of them.
        """
        tuned = [Edit("~", part) for part in next((parts for top, parts in self.per_fraction if fraction <= top), ())]
        method = _stated(replace(self, per_fraction=(), edits=()))
        for edit in (*tuned, *self.edits):
            method = _apply(method, edit)
        if not method.terms:
            scale = [edit for edit in scale if slot_of(edit.part.name) == "post"]
        if steps is not None:
            scale = (*scale, *self._shortened(method, (*tuned, *scale), steps))
        for edit in (*scale, *(Edit("~", edit.part) for edit in self.edits if edit.sign == "+")):
            method = _apply(method, edit)
        for stated in method.parts():
            facts(stated.name).check(dict(stated.options))
        return method

    def _shortened(self, method: Method, scale: Sequence[Edit], steps: int) -> Iterator[Edit]:
        """Yield the edits that give every part of `method` that has steps this number of them."""
        if method.terms:
            recipe = self.recipe
            for edit in scale:
                recipe = recipe.updated(edit.part) if edit.part.name == recipe.name else recipe
            own: dict[str, Any] = dict(recipe.options)
            yield Edit("~", part("recipe", steps=steps, warmup=own["warmup"] * steps // max(own["steps"], 1)))
        for stage in (method.stages if steps else None, method.post):
            if stage is not None and "steps" in dict(stage.options):
                yield Edit("~", part(stage.name, steps=steps))

    def resolved(self) -> str:
        """Return every part with every option and version, as a text that belongs to the identity of a job."""
        return " ".join(f"{part}@{facts(part.name).version}" for part in self.parts())

    def data_seen(self) -> tuple[str, ...]:
        """Return the kinds of data that training uses: `subset`, `external`, `labels`, `generated`."""
        kinds = {"subset"}
        for part in self.parts():
            stated = facts(part.name)
            if stated.data_seen and not any(option in part.options for option in stated.own.items()):
                kinds.add(stated.data_seen)
        return tuple(sorted(kinds)) if self.terms or self.post or self.counts() else ()

    def english_parts(self) -> list[str]:
        """Return the names of the parts that work for English only, with the options that they have here."""
        return [
            part.name
            for part in self.parts()
            for english in [facts(part.name).english]
            if english is not None and all(dict(part.options).get(key) in values for key, values in english.items())
        ]

    def counts(self) -> bool:
        """Return whether the pooler counts tokens of the training sentences, also where nothing is trained."""
        return facts(self.pooler.name).data_seen == "subset"

    def external_inputs(self) -> tuple[tuple[str, str, str], ...]:
        """Return (part, option, file or model that it names), each once: ("rtd", "generator", "distilbert")."""
        named = (
            (part.name, key, str(value))
            for part in self.parts()
            for stated in [facts(part.name)]
            for key, value in part.options
            if key in stated.external and value and not (key in stated.own and stated.own[key] == value)
        )
        return tuple(dict.fromkeys(named))


def method_named(name: str) -> Method:
    """Return the method of the registry. Raises: UnknownName; BadSpec if a third-party one has another name."""
    method: Method = METHODS[name]
    if not isinstance(method, Method):
        raise BadSpec(
            f"method {name!r} is {shortened(method)} ({METHODS.targets[name]}); a cseb.methods.spec.Method is needed"
        )
    if method.name != name:
        where = METHODS.targets[name]
        raise BadSpec(f"method {name!r} says name={method.name!r} ({where}); its entry point and its name must agree")
    return method


def preset(name: str, **changes: Option) -> Part:
    """Return the part that `+name` adds, with these options in place of its own: `preset("recipe", steps=500)`.

    An option of a third-party part that has no default is left out, and must be given. Raises: BadSpec, UnknownName.
    """
    default: Part = PRESETS[name] if name in PRESETS else Part(name, facts(name).defaults())
    if not isinstance(default, Part):
        raise BadSpec(
            f"part {name!r} is {shortened(default)} ({PRESETS.targets[name]}); a cseb.methods.spec.Part is needed"
        )
    return default.updated(part(default.name, **changes))


def recipe(
    *,
    steps: int,
    batch_size: int,
    learning_rate: float,
    warmup: int,
    max_length: int,
    eval_every: int,
    **others: Option,
) -> Part:
    """Return the recipe of a paper; `cseb.methods.recipe.Recipe` explains the numbers.

    A method file leaves out what the Trainer of transformers does by default, as in the authors' code of most papers:
    linear decay, AdamW without weight decay, gradients clipped at norm 1, dropout of the encoder's configuration.
    """
    numbers = {"steps": steps, "batch_size": batch_size, "learning_rate": learning_rate, "warmup": warmup}
    return preset("recipe", **numbers, max_length=max_length, eval_every=eval_every, **others)


def _filled(own: Part, changes: Part) -> Part:
    """Return the part with these options in place of its own. Raises: BadSpec if one is unknown or has no value."""
    values = dict(own.options) | dict(changes.options)
    facts(own.name).check(values)
    return Part(own.name, facts(own.name).stated(values))


def _in_slot(method: Method, slot: str) -> tuple[Part, ...]:
    content = getattr(method, slot)
    if slot in SEVERAL:
        return tuple(content)
    return () if content is None else (content,)


def _put(method: Method, slot: str, parts: Sequence[Part]) -> Method:
    changes: dict[str, Any] = {slot: tuple(parts) if slot in SEVERAL else next(iter(parts), None)}
    return replace(method, **changes)


def _apply(method: Method, edit: Edit) -> Method:
    target = _removed(method, edit.part.name) if edit.sign == "-" else preset(edit.part.name)
    slot = slot_of(target.name)
    parts = _in_slot(method, slot)
    present = any(part.name == target.name for part in parts)
    if edit.sign == "-":
        if slot not in (*SEVERAL, *OPTIONAL):
            raise _not_removable(method, slot, target.name)
        if not present:
            raise UnknownName(f"part of {method.name}", target.name, [part.name for part in method.parts()])
        return _put(method, slot, [part for part in parts if part.name != target.name])
    if present:
        changes = Part(target.name, edit.part.options)
        return _put(method, slot, [part.updated(changes) if part.name == target.name else part for part in parts])
    if edit.sign == "~":
        return method
    added = _filled(target, edit.part)
    return _put(method, slot, [*parts, added] if slot in SEVERAL else [added])


def _stated(method: Method) -> Method:
    """Return the method with every option of every part stated: their defaults belong to what is run."""
    for slot in SLOTS:
        method = _put(method, slot, [_filled(preset(part.name), part) for part in _in_slot(method, slot)])
    return method


def _removed(method: Method, name: str) -> Part:
    """Return the part that `-name` removes. Raises: UnknownName, as the hyphen may belong to a method's name."""
    if is_part(name):
        return preset(name)
    whole = f"{method.name}-{name}"
    similar = difflib.get_close_matches(whole, METHODS, n=3)
    remarks = [f"nor a method {whole!r}; did you mean {' or '.join(similar)}?"] if similar else []
    present = [part.name for part in method.parts()]
    raise UnknownName(f"part of {method.name}", name, present, (*remarks, *left_out()))


def _not_removable(method: Method, slot: str, name: str) -> BadSpec:
    others = [f"+{other}" for other in SLOTS[slot] if other != name][:4]
    cure = f"put another in its place, such as {' or '.join(others)}" if others else f"change it with +{name}(...)"
    return BadSpec(f"{method.name} cannot do without its {slot}; {cure}")


def refuse_unsaved(label: str, method: Method) -> None:
    """Raise BadResults if no ordinary checkpoint can contain what this method trains."""
    tuning = method.tuning
    if tuning is not None and getattr(SLOTS["tuning"][tuning.name], "stays", False):
        raise BadResults(
            f"{label} cannot be saved: sentence-transformers cannot load what {tuning.name} adds; train it without "
            "saving, or with +lora instead"
        )
