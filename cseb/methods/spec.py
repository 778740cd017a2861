"""What a method is, as data: parts in slots, and the edits that change them. `grammar` reads it from text."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from cseb.errors import BadSpec, UnknownName, did_you_mean, shortened
from cseb.methods.part_facts import facts
from cseb.registry import METHODS, PRESETS, SLOTS, is_part, left_out, slot_of

Option = bool | int | float | str | None | tuple[Any, ...]
SEVERAL = ("terms",)  # slots that hold any number of parts; the others hold one
# Slots that may hold none.
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
            held = getattr(self, slot)
            yield from held if slot in SEVERAL else [held] if held is not None else []

    def at(self, fraction: float, scale: Sequence[Edit] = (), steps: int | None = None) -> Method:
        """Return the method as trained on this fraction of the corpus, with every option resolved.

        Order: the spec, its own per_fraction, the parts that a user added or removed, the benchmark's `scale` and
        `steps` for the parts that are then there, and once more the options that a user typed, which win.

        Args:
            fraction: of the corpus.
            scale: options for parts that the method has. Of a method without terms only `post` is changed.
            steps: of the training, of the models trained first, and of what is fitted afterwards; the warm-up keeps
                its share of the steps.

        Raises:
            BadSpec: a part or an option does not exist or has a value that is not allowed, or a part cannot be removed.
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
        found = {"subset"}
        for part in self.parts():
            known = facts(part.name)
            if known.data_seen and not any(option in part.options for option in known.own.items()):
                found.add(known.data_seen)
        return tuple(sorted(found)) if self.terms or self.post or self.counts() else ()

    def counts(self) -> bool:
        """Return whether the pooler counts tokens of the training sentences, also where nothing is trained."""
        return facts(self.pooler.name).data_seen == "subset"

    def external_inputs(self) -> tuple[tuple[str, str, str], ...]:
        """Return (part, option, file or model that it names), each once: ("rtd", "generator", "distilbert")."""
        named = (
            (part.name, key, str(value))
            for part in self.parts()
            for known in [facts(part.name)]
            for key, value in part.options
            if key in known.external and value and not (key in known.own and known.own[key] == value)
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

    An option of a third-party part that has no default is left out, and must be given. Raises: BadSpec,
    UnknownName.
    """
    found: Part = PRESETS[name] if name in PRESETS else Part(name, facts(name).defaults())
    if not isinstance(found, Part):
        raise BadSpec(
            f"part {name!r} is {shortened(found)} ({PRESETS.targets[name]}); a cseb.methods.spec.Part is needed"
        )
    return found.updated(part(found.name, **changes))


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
    order = [one.name for one in facts(own.name).options]
    held = dict(own.options) | dict(changes.options)
    for key in held:
        if key not in order:
            raise BadSpec(f"{own.name} has no option {key!r}; {did_you_mean(key, order)}")
    for key in order:
        if key not in held:
            raise BadSpec(f"{own.name} needs a value for {key}; write {own.name}({key}=...)")
    return Part(own.name, tuple((key, held[key]) for key in order))


def _apply(method: Method, edit: Edit) -> Method:
    meant = _taken(method, edit.part.name) if edit.sign == "-" else preset(edit.part.name)
    slot = slot_of(meant.name)
    held: tuple[Part, ...] = getattr(method, slot) if slot in SEVERAL else (getattr(method, slot),)
    found = [here for here in held if here is not None and here.name == meant.name]
    if edit.sign == "-":
        return _put(method, slot, _without(method, slot, held, meant.name))
    if found:
        new = Part(meant.name, edit.part.options)
        held = tuple(here.updated(new) if here in found else here for here in held)
    elif edit.sign == "~":
        return method
    else:
        ready = _filled(meant, edit.part)
        held = (*held, ready) if slot in SEVERAL else (ready,)
    return _put(method, slot, held if slot in SEVERAL else held[0])


def _stated(method: Method) -> Method:
    """Return the method with every option of every part stated: their defaults belong to what is run."""
    for slot in SLOTS:
        parts: tuple[Part | None, ...] = getattr(method, slot) if slot in SEVERAL else (getattr(method, slot),)
        full = tuple(None if part is None else _filled(preset(part.name), part) for part in parts)
        method = _put(method, slot, full if slot in SEVERAL else full[0])  # type: ignore[arg-type]
    return method


def _taken(method: Method, name: str) -> Part:
    """Return the part that `-name` removes. Raises: UnknownName, as the hyphen may belong to a method's name."""
    if is_part(name):
        return preset(name)
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
