"""Sentences that tie synonyms, hypernyms and typical events together, as a dictionary would."""

from cseb.microworld.chance import Chance
from cseb.microworld.frames import NounPhrase
from cseb.microworld.registers import REGISTERS
from cseb.microworld.wording import Wording, glue, with_article
from cseb.microworld.world import World


def entry(world: World, chance: Chance) -> str:
    """One sentence about a noun of the lexicon, or an event that is typical for it."""
    words = world.words
    noun = words.nouns[chance.pick(chance.pick(tuple(words.members.values())))]
    above = words.nouns[noun.kind]
    start = chance.below(len(noun.forms))
    one, other = noun.forms[start], noun.forms[(start + 1) % len(noun.forms)]
    general = chance.pick(above.forms)
    name = one[0] if noun.mass else with_article(one[0])
    share = chance.random()
    if len(noun.forms) > 1 and share < 0.4:
        return chance.pick(
            (
                f"{name} is another word for {other[0]}",
                f"{name} or {other[0]} is a kind of {general[0]}",
                f"{name}, also called {other[0]}, is a type of {general[0]}",
                f"people often call {name} {other[0] if noun.mass else with_article(other[0])}",
            )
        )
    sibling = words.nouns[chance.pick(words.members[noun.kind])]
    if share < 0.6 and sibling.name != noun.name and not noun.mass and not sibling.mass:
        return chance.pick(
            (
                f"{one[1]} and {chance.pick(sibling.forms)[1]} are all {general[1]}",
                f"{general[1]} such as {one[1]} and {chance.pick(sibling.forms)[1]} are common",
            )
        )
    return _typical_event(world, chance)


def _typical_event(world: World, chance: Chance) -> str:
    """What someone or something does, told as a definition of a noun and not of its kind."""
    way = REGISTERS["definition"]
    plain = world.frame(chance, way.rates)
    nouns = world.words.nouns
    focus = "agent" if chance.flip(0.5) else "patient"
    known = nouns[(plain.actor if focus == "agent" else plain.patient).noun]
    general = NounPhrase(known.kind)
    frame = plain._replace(
        agent=NounPhrase(plain.actor.noun), patient=plain.patient._replace(number="one"), focus=focus
    )
    frame = frame._replace(agent=general) if focus == "agent" else frame._replace(patient=general)
    name = chance.pick(known.forms)[0]
    text = way.write(frame, Wording(chance), "")
    return glue(name if known.mass else with_article(name), "is", text)
