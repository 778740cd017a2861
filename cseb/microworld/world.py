"""The distribution of events: frames drawn at random, with fixed uneven frequencies."""

from collections.abc import Mapping
from functools import cached_property
from math import isqrt
from typing import NamedTuple

from cseb.microworld.chance import Chance, Weighted, strength, weighted
from cseb.microworld.frames import Frame, NounPhrase
from cseb.microworld.lexicon import Lexicon, lexicon

MODALS = ("want", "must", "can", "try", "plan")
NUMBERS = ("two", "three", "some", "many")
CONJUNCTIONS = ("because", "while", "after", "before", "so", "but", "and", "when")
_FREQUENCY = tuple(isqrt(2_000_000 // (2 * i + 3)) for i in range(20))  # falls with the square root of the rank


class Rates(NamedTuple):
    """How often each optional part of a frame is present, each in [0, 1]."""

    adjective: float = 0.35
    number: float = 0.15
    instrument: float = 0.3
    place: float = 0.5
    time: float = 0.25
    manner: float = 0.2
    negation: float = 0.06
    modal: float = 0.08
    hypernym: float = 0.08


class World:
    """A source of frames from some topics; `shares` maps a topic to the weight of its predicates."""

    def __init__(self, shares: Mapping[str, int]) -> None:
        self.shares = dict(shares)
        self._tables: dict[tuple[str, str], Weighted] = {}

    @cached_property
    def words(self) -> Lexicon:
        """The lexicon, read when the first frame is drawn."""
        return lexicon()

    def topic(self, predicate: str) -> str:
        """The topic of what the predicate is usually done to."""
        return self.words.nouns[self.words.predicates[predicate].patients[0]].topic

    @cached_property
    def predicates(self) -> Weighted:
        """Predicates with a fixed, uneven frequency."""
        share = {name: self.shares.get(self.topic(name), 0) for name in self.words.predicates}
        names = [name for name, weight in share.items() if weight]
        return weighted(names, [share[name] * isqrt(strength("predicate", name)) for name in names])

    def frame(self, chance: Chance, rates: Rates, predicate: str | None = None) -> Frame:
        """One event; the predicate may be given."""
        name = predicate or chance.draw(self.predicates)
        what = self.words.predicates[name]
        agent = chance.draw(self.nouns(name, "agents"))
        patient = self._patient(chance, name, agent)
        instrument = place = time = manner = modal = None
        if what.instruments and chance.flip(rates.instrument):
            noun = chance.draw(self.nouns(name, "instruments"))
            instrument = NounPhrase(noun, self.adjective(chance, noun) if chance.flip(0.15) else None)
        if what.places and chance.flip(rates.place):
            noun = chance.draw(self.nouns(name, "places"))
            place = NounPhrase(noun, self.adjective(chance, noun) if chance.flip(0.15) else None)
        if chance.flip(rates.time):
            time = chance.pick(tuple(self.words.times))
        if chance.flip(rates.manner):
            manner = chance.draw(self._fitting(name, "manner", tuple(self.words.manners)))
        if chance.flip(rates.modal):
            modal = chance.pick(MODALS)
        return Frame(
            name,
            self.phrase(chance, agent, rates),
            self.phrase(chance, patient, rates),
            instrument,
            place,
            time,
            manner,
            modal,
            chance.flip(rates.negation),
        )

    def linked(self, chance: Chance, rates: Rates) -> Frame:
        """Two events with a conjunction; where possible they have a participant in common."""
        first = self.frame(chance, rates)
        small = Rates(0.2, 0.1, 0.1, 0.25, 0.05, 0.05, 0.03, 0.0, 0.0)
        second = self.frame(chance, small)
        for _ in range(4):
            what = self.words.predicates[second.predicate]
            if first.agent and self.words.nouns[first.agent.noun].kind in what.agents:
                second = second._replace(agent=NounPhrase(first.agent.noun))
                break
            if self.words.nouns[first.patient.noun].kind in what.patients:
                second = second._replace(patient=NounPhrase(first.patient.noun))
                break
            second = self.frame(chance, small)
        if second.agent and second.agent.noun == second.patient.noun:
            second = self.frame(chance, small)
        return first._replace(conjunction=chance.pick(CONJUNCTIONS), second=second)

    def phrase(self, chance: Chance, noun: str, rates: Rates) -> NounPhrase:
        """The noun, sometimes its hypernym, sometimes with an adjective or a number."""
        entry = self.words.nouns[noun]
        if chance.flip(rates.hypernym):
            entry = self.words.nouns[entry.kind]
        adjective = self.adjective(chance, entry.name) if chance.flip(rates.adjective) else None
        number = chance.pick(NUMBERS) if not entry.mass and chance.flip(rates.number) else "one"
        return NounPhrase(entry.name, adjective, number)

    def adjective(self, chance: Chance, noun: str) -> str | None:
        """An adjective that fits the noun, or None if none does."""
        fitting = self.words.adjectives_of.get(self.words.nouns[noun].above)
        return chance.draw(self._fitting(noun, "adjective", fitting)) if fitting else None

    def nouns(self, predicate: str, slot: str) -> Weighted:
        """Nouns for agents, patients, instruments or places as the predicate likes them."""
        key = (predicate, slot)
        if key not in self._tables:
            kinds = getattr(self.words.predicates[predicate], slot)
            names = [name for kind in kinds for name in self.words.members[kind]]
            weights = [strength(predicate, name) * _FREQUENCY[self.words.nouns[name].position] for name in names]
            self._tables[key] = weighted(names, weights)
        return self._tables[key]

    def _patient(self, chance: Chance, predicate: str, agent: str) -> str:
        """What the agent does this to, never itself."""
        key = (predicate, "patient of " + agent)
        if key not in self._tables:
            kinds = self.words.predicates[predicate].patients
            names = [name for kind in kinds for name in self.words.members[kind] if name != agent]
            weights = [
                strength(predicate, name) * isqrt(strength(agent, name)) * _FREQUENCY[self.words.nouns[name].position]
                for name in names
            ]
            self._tables[key] = weighted(names, weights)
        return chance.draw(self._tables[key])

    def _fitting(self, name: str, slot: str, candidates: tuple[str, ...]) -> Weighted:
        """Adjectives or manners as this noun or predicate likes them."""
        key = (name, slot)
        if key not in self._tables:
            self._tables[key] = weighted(candidates, [strength(name, other) for other in candidates])
        return self._tables[key]
