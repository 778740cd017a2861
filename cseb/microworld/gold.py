"""How alike two frames are, from 0 (nothing in common) to 5 (the same)."""

import math
from functools import lru_cache

from cseb.microworld.frames import Frame, NounPhrase
from cseb.microworld.lexicon import Lexicon, lexicon

# weight of each role: the predicate and its core roles most, circumstances least
WEIGHTS = {
    "predicate": 3.0,
    "agent": 2.5,
    "patient": 3.0,
    "instrument": 1.0,
    "place": 1.25,
    "time": 0.7,
    "manner": 0.6,
    "modal": 0.5,
    "focus": 1.0,
}
SWAPPED = 0.6  # of the likeness that swapped roles would have if put right
NEGATED = 0.5  # of the likeness that remains when only one of the two is negated
MISSING_ROLE = 0.35  # of a role's weight when one frame leaves it out
CURVE = 1.6  # exponent that turns likeness into a score


def noun_likeness(one: str, other: str, words: Lexicon) -> float:
    """1 for the same noun, less for its hypernym, a sibling and a cousin, 0 otherwise."""
    if one == other:
        return 1.0
    a, b = words.nouns[one], words.nouns[other]
    if a.kind == b.kind:
        return 0.8 if a.is_hypernym or b.is_hypernym else 0.5
    return 0.2 if a.above == b.above else 0.0


def predicate_likeness(one: str, other: str, words: Lexicon) -> float:
    """1 for the same predicate, less for one of its group, less again for an opposite, 0 otherwise."""
    if one == other:
        return 1.0
    a, b = words.predicates[one].group, words.predicates[other].group
    return 0.4 if a == b else 0.2 if words.opposite.get(a) == b else 0.0


def adjective_likeness(one: str | None, other: str | None, words: Lexicon) -> float:
    """1 for the same or none in both, 0 for antonyms."""
    if one == other:
        return 1.0
    if one is None or other is None:
        return 0.6
    return 0.0 if words.adjectives[one].antonym == other else 0.3


def phrase_likeness(one: NounPhrase, other: NounPhrase, words: Lexicon) -> float:
    """The nouns, reduced by up to a quarter for other adjectives and numbers."""
    same = noun_likeness(one.noun, other.noun, words)
    same *= 0.78 + 0.22 * adjective_likeness(one.adjective, other.adjective, words)
    return same if one.number == other.number else 0.93 * same


def event_likeness(one: Frame, other: Frame, words: Lexicon) -> float:
    """Weighted mean over the roles present in either frame, second events left aside; 0 to 1."""
    got = WEIGHTS["predicate"] * predicate_likeness(one.predicate, other.predicate, words)
    full = WEIGHTS["predicate"]
    for role in ("agent", "patient", "instrument", "place"):
        a, b = getattr(one, role), getattr(other, role)
        if a or b:
            full += WEIGHTS[role]
            got += WEIGHTS[role] * (phrase_likeness(a, b, words) if a and b else MISSING_ROLE)
    for role in ("time", "manner", "modal", "focus"):
        a, b = getattr(one, role), getattr(other, role)
        if a or b:
            full += WEIGHTS[role]
            got += WEIGHTS[role] * (1.0 if a == b else 0.25 if a and b else 0.45)
    likeness = got / full
    return likeness * NEGATED if one.negated != other.negated else likeness


def likeness_of(one: Frame, other: Frame, words: Lexicon) -> float:
    """Events compared role by role, or with the roles of one swapped if that fits better, at a discount."""
    direct = event_likeness(one, other, words)
    if one.agent is None or other.agent is None:
        return direct
    # agent and patient weigh differently, so both ways round are averaged to keep the score symmetric
    there = event_likeness(one, other._replace(agent=other.patient, patient=other.agent), words)
    back = event_likeness(other, one._replace(agent=one.patient, patient=one.agent), words)
    return max(direct, SWAPPED * (there + back) / 2)


@lru_cache(maxsize=64)  # a group of pairs asks twice for some
def gold(one: Frame, other: Frame) -> float:
    """The score of a pair of sentences written from these frames, 0 to 5."""
    words = lexicon()
    likeness = likeness_of(one, other, words)
    a, b = one.second, other.second
    if a and b:
        link = 1.0 if one.conjunction == other.conjunction else 0.93
        in_order = 0.58 * likeness + 0.42 * likeness_of(a, b, words) * link
        crossed = 0.4 * (likeness_of(one, b, words) + likeness_of(a, other, words))
        likeness = max(in_order, crossed)
    elif a or b:
        across = likeness_of(a, other, words) if a else likeness_of(one, b, words) if b else 0.0
        likeness = max(0.8 * likeness, 0.65 * across)
    return round(5 * math.pow(likeness, CURVE), 2)
