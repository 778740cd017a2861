"""Small and large changes to a frame, from which partners of an anchor sentence are made."""

from collections.abc import Callable, Sequence
from typing import Literal

from cseb.microworld.chance import Chance
from cseb.microworld.frames import Frame, NounPhrase
from cseb.microworld.registers import Register
from cseb.microworld.world import NUMBERS, World

Slot = Literal["agent", "patient"]
Edit = Callable[[Frame, World, Chance], Frame | None]  # None where the frame has nothing to change


def adjective(frame: Frame, world: World, chance: Chance) -> Frame | None:
    """Another adjective, or one more or less, on agent or patient."""
    slot, phrase = _participant(frame, chance)
    drop = phrase.adjective is not None and chance.flip(0.5)
    changed = phrase._replace(adjective=None if drop else world.adjective(chance, phrase.noun))
    return _with(frame, slot, changed)


def number(frame: Frame, world: World, chance: Chance) -> Frame | None:
    """Another number of agents or patients."""
    slot, phrase = _participant(frame, chance)
    if world.words.nouns[phrase.noun].mass:
        return None
    return _with(frame, slot, phrase._replace(number=chance.pick(("one", *NUMBERS))))


def hypernym(frame: Frame, world: World, chance: Chance) -> Frame | None:
    """The name of the kind in place of agent or patient."""
    slot, phrase = _participant(frame, chance)
    noun = world.words.nouns[phrase.noun]
    return None if noun.is_hypernym else _with(frame, slot, phrase._replace(noun=noun.kind))


def circumstance(frame: Frame, world: World, chance: Chance) -> Frame | None:
    """A place, instrument, time or manner more, less, or another one."""
    bare = (
        frame._replace(place=None),
        frame._replace(instrument=None),
        frame._replace(time=None),
        frame._replace(manner=None),
    )
    fewer = [other for other in bare if other != frame]
    if fewer and chance.flip(0.5):
        return chance.pick(fewer)
    if chance.flip(0.5):
        return frame._replace(time=chance.pick(tuple(world.words.times)))
    if frame.focus == "where" or not world.words.predicates[frame.predicate].places:
        return frame._replace(manner=chance.pick(tuple(world.words.manners)))
    return frame._replace(place=NounPhrase(chance.draw(world.nouns(frame.predicate, "places"))))


def sibling(frame: Frame, world: World, chance: Chance) -> Frame | None:
    """Another noun of the same kind as agent or patient, or any other that the predicate takes."""
    slot, phrase = _participant(frame, chance)
    members = world.words.members[world.words.nouns[phrase.noun].kind]
    wide = chance.flip(0.4)
    noun = chance.draw(world.nouns(frame.predicate, slot + "s")) if wide else chance.pick(members)
    return _with(frame, slot, phrase._replace(noun=noun, adjective=phrase.adjective if not wide else None))


def predicate(frame: Frame, world: World, chance: Chance) -> Frame | None:
    """Another predicate that the same participants allow, of the same group where there is one."""
    others = [name for name in world.words.predicates if name != frame.predicate and _allows(world, name, frame)]
    group = world.words.predicates[frame.predicate].group
    near = [name for name in others if world.words.predicates[name].group == group]
    chosen = near if near and chance.flip(0.4) else others
    return frame._replace(predicate=chance.pick(chosen)) if chosen else None


def opposite(frame: Frame, world: World, chance: Chance) -> Frame | None:
    """A predicate of the opposite group with the same participants."""
    group = world.words.opposite.get(world.words.predicates[frame.predicate].group)
    found = [
        name for name, other in world.words.predicates.items() if other.group == group and _allows(world, name, frame)
    ]
    return frame._replace(predicate=chance.pick(found)) if found else None


def negation(frame: Frame, world: World, chance: Chance) -> Frame | None:
    """Negated where it was not, and the other way round."""
    return frame._replace(negated=not frame.negated)


def swap(frame: Frame, world: World, chance: Chance) -> Frame | None:
    """Agent and patient in each other's role, if the patient can act."""
    if frame.agent is None or world.words.nouns[frame.patient.noun].above not in ("person", "animal"):
        return None
    return frame._replace(agent=frame.patient, patient=frame.agent)


MINOR: tuple[Edit, ...] = (adjective, number, hypernym, circumstance, circumstance)
MAJOR: tuple[Edit, ...] = (sibling, sibling, predicate, predicate, opposite, negation, swap)
CONTENT: tuple[Edit, ...] = (sibling, sibling, predicate, opposite)  # where negation makes no sense
RELATIONS: tuple[Edit, ...] = (negation, swap, swap, sibling, opposite, predicate)


def changed(frame: Frame, edits: Sequence[Edit], times: int, world: World, chance: Chance) -> Frame:
    """The frame after so many of these edits; fewer if ten attempts for each were not enough."""
    done = 0
    for _ in range(10 * times):
        if done == times:
            break
        other = chance.pick(edits)(frame, world, chance)
        if other is not None and other != frame and (other.agent is None or other.agent.noun != other.patient.noun):
            frame, done = other, done + 1
    return frame


def decoy(frame: Frame, way: Register, world: World, chance: Chance) -> Frame:
    """Another event with the circumstances, and sometimes the patient, of this one: many words, little meaning."""
    other = way.draw(world, chance, way.rates)
    kind = world.words.nouns[frame.patient.noun].kind
    apart = other.agent is None or other.agent.noun != frame.patient.noun
    takes = kind in world.words.predicates[other.predicate].patients and other.focus != "patient"
    if apart and takes and chance.flip(0.7):
        other = other._replace(patient=frame.patient)
    if frame.place and other.focus != "where":
        other = other._replace(place=frame.place)
    return other._replace(time=frame.time or other.time, manner=frame.manner or other.manner)


def _with(frame: Frame, slot: Slot, phrase: NounPhrase) -> Frame:
    """The frame with another agent or patient."""
    return frame._replace(agent=phrase) if slot == "agent" else frame._replace(patient=phrase)


def _participant(frame: Frame, chance: Chance) -> tuple[Slot, NounPhrase]:
    """Agent or patient, whichever is there."""
    if frame.agent is not None and chance.flip(0.5):
        return "agent", frame.agent
    return "patient", frame.patient


def _allows(world: World, name: str, frame: Frame) -> bool:
    """Whether the predicate can take agent and patient of the frame."""
    what, nouns = world.words.predicates[name], world.words.nouns
    agent = frame.agent is None or nouns[frame.agent.noun].kind in what.agents
    return agent and nouns[frame.patient.noun].kind in what.patients
