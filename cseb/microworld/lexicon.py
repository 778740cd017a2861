"""The lexicon of the generated sentences: `lexicon.json` as typed tables, read on first use.

A noun is one meaning with its synonyms; so are a predicate, an adjective, a manner and a time.
Identifiers are `kind.first_synonym` for nouns, the kind's own name for its hypernym, `verb@patient` for predicates.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

Forms = tuple[str, ...]  # a noun: singular, plural; a verb: base, past, participle, -ing, third person


@dataclass(frozen=True, slots=True)
class Noun:
    """One meaning of a noun; `kind` is its category, and its own name where it is the hypernym of the category."""

    name: str
    kind: str
    above: str  # person, animal, food, tool, vehicle, thing, plant, matter, place
    topic: str
    forms: tuple[Forms, ...]
    mass: bool  # has no plural
    position: int  # 0 for the most frequent noun of its kind

    @property
    def is_hypernym(self) -> bool:
        """True for the name of a whole kind, such as `musician` over `drummer`."""
        return self.name == self.kind


@dataclass(frozen=True, slots=True)
class Predicate:
    """What can happen: who can do it to what, with what, where."""

    name: str
    group: str
    agents: tuple[str, ...]  # kinds
    patients: tuple[str, ...]
    instruments: tuple[str, ...]
    places: tuple[str, ...]
    verbs: tuple[Forms, ...]


@dataclass(frozen=True, slots=True)
class Word:
    """An adjective or a manner: synonyms, and the name of its antonym if it has one."""

    name: str
    synonyms: tuple[str, ...]
    antonym: str | None


@dataclass(frozen=True, slots=True)
class Lexicon:
    """All tables; keys are identifiers."""

    nouns: Mapping[str, Noun]
    members: Mapping[str, tuple[str, ...]]  # kind to its nouns, the hypernym not among them
    predicates: Mapping[str, Predicate]
    opposite: Mapping[str, str]  # predicate group to the opposite group
    adjectives: Mapping[str, Word]
    adjectives_of: Mapping[str, tuple[str, ...]]  # `Noun.above` to adjectives that fit
    manners: Mapping[str, Word]
    times: Mapping[str, tuple[str, ...]]
    on_places: frozenset[str]
    at_places: frozenset[str]
    before: Mapping[str, tuple[str, ...]]  # register to openings that do not change what a sentence says
    after: Mapping[str, tuple[str, ...]]  # and closings


def _words(prefix: str, pairs: list[list[list[str]]]) -> dict[str, Word]:
    """Synonym sets, each a list of one or two sides; the second side is the antonym of the first."""
    found = {}
    for sides in pairs:
        names = [prefix + side[0] for side in sides]
        for i, side in enumerate(sides):
            other = names[1 - i] if len(names) == 2 else None
            found[names[i]] = Word(names[i], tuple(side), other)
    return found


@cache
def lexicon() -> Lexicon:
    """The one lexicon of the package."""
    raw = json.loads(files("cseb.microworld").joinpath("lexicon.json").read_text(encoding="utf-8"))
    mass = frozenset(raw["mass"])
    nouns: dict[str, Noun] = {}
    members = {}
    for kind in raw["kinds"]:
        name, above, topic = kind["name"], kind["above"], kind["topic"]
        entries = [(name, kind["hypernyms"])] + [(f"{name}.{forms[0][0]}", forms) for forms in kind["nouns"]]
        for i, (key, forms) in enumerate(entries):
            pairs = tuple((form[0], form[1]) for form in forms)
            nouns[key] = Noun(key, name, above, topic, pairs, pairs[0][0] in mass, max(0, i - 1))
        members[name] = tuple(key for key, _ in entries[1:])
    predicates = {}
    for row in raw["predicates"]:
        predicates[row["name"]] = Predicate(
            name=row["name"],
            group=row["group"],
            agents=tuple(row["agents"]),
            patients=tuple(row["patients"]),
            instruments=tuple(row["instruments"]),
            places=tuple(row["places"]),
            verbs=tuple(tuple(forms) for forms in row["verbs"]),
        )
    adjectives: dict[str, Word] = {}
    fitting: dict[str, list[str]] = {}
    for row in raw["adjectives"]:
        found = _words(row["group"] + ":", row["words"])
        adjectives |= found
        for above in row["above"]:
            fitting.setdefault(above, []).extend(found)
    opposite = dict(raw["opposite_groups"])
    return Lexicon(
        nouns=nouns,
        members=members,
        predicates=predicates,
        opposite=opposite | {b: a for a, b in opposite.items()},
        adjectives=adjectives,
        adjectives_of={above: tuple(names) for above, names in fitting.items()},
        manners=_words("", raw["manners"]),
        times={row[0]: tuple(row) for row in raw["times"]},
        on_places=frozenset(raw["on_places"]),
        at_places=frozenset(raw["at_places"]),
        before={name: tuple(row["before"]) for name, row in raw["wrappers"].items()},
        after={name: tuple(row["after"]) for name, row in raw["wrappers"].items()},
    )
