"""Ways of writing: the same frame as narration, caption, headline, question, forum post or definition."""

from collections.abc import Callable
from typing import NamedTuple

from cseb.microworld.chance import Chance
from cseb.microworld.clauses import SHAPES, clause, nominal, sentence, shape_of
from cseb.microworld.frames import Frame, NounPhrase
from cseb.microworld.wording import Wording, glue
from cseb.microworld.world import Rates, World


class Register(NamedTuple):
    """How frames are drawn for a way of writing, and how they are put into words.

    `write` gets the shape of the clause: one of SHAPES, or empty for any shape the register has.
    """

    rates: Rates
    draw: Callable[[World, Chance, Rates], Frame]
    write: Callable[[Frame, Wording, str], str]
    full_stop: bool = False


def _plain(world: World, chance: Chance, rates: Rates) -> Frame:
    return world.frame(chance, rates)


def _sometimes_linked(world: World, chance: Chance, rates: Rates) -> Frame:
    return world.linked(chance, rates) if chance.flip(0.3) else world.frame(chance, rates)


def _linked(world: World, chance: Chance, rates: Rates) -> Frame:
    return world.linked(chance, rates)


def _question_frame(world: World, chance: Chance, rates: Rates) -> Frame:
    frame = world.frame(chance, rates)
    focus = chance.pick(("how", "how", "who", "where", "why", "whether"))
    if focus in ("how", "who"):
        return frame._replace(focus=focus, agent=None)
    return frame._replace(focus=focus, place=None if focus == "where" else frame.place)


def _forum_frame(world: World, chance: Chance, rates: Rates) -> Frame:
    frame = world.frame(chance, rates)
    return frame._replace(agent=None, modal=None) if chance.flip(0.4) else frame


def _definition_frame(world: World, chance: Chance, rates: Rates) -> Frame:
    frame = world.frame(chance, rates)
    nouns = world.words.nouns
    focus = "instrument" if frame.instrument and chance.flip(0.7) else "agent" if chance.flip(0.55) else "patient"
    agent, patient = NounPhrase(frame.actor.noun, frame.actor.adjective), frame.patient._replace(number="one")
    if focus == "agent":
        agent = agent._replace(noun=nouns[agent.noun].kind)
    elif focus == "patient":
        patient = patient._replace(noun=nouns[patient.noun].kind)
    elif frame.instrument:
        frame = frame._replace(instrument=NounPhrase(nouns[frame.instrument.noun].kind))
    return frame._replace(focus=focus, agent=agent, patient=patient)


def narration(frame: Frame, wording: Wording, shape: str) -> str:
    """A sentence of a story or a news text."""
    chance = wording.chance
    share = chance.random()
    tense = "past" if share < 0.75 else "present" if share < 0.85 else "perfect" if share < 0.93 else "future"
    if frame.modal and tense in ("perfect", "future"):
        tense = "past"
    return sentence(frame, wording, tense, "the" if chance.flip(0.6) else "a", shape or shape_of(chance))


def caption(frame: Frame, wording: Wording, shape: str) -> str:
    """What a picture shows."""
    chance = wording.chance
    shape = shape or chance.pick(("active", "active", "active", "passive", "front", "there", "bare"))
    if shape in SHAPES:
        return clause(frame, wording, "progressive", "a", shape)
    agent = wording.noun(frame.actor, "a")
    patient = wording.noun(frame.patient, "the" if chance.flip(0.5) else "a")
    rest = wording.adjuncts(frame, "a").joined()
    there = ("there are" if wording.is_plural(frame.actor) else "there is") if shape == "there" else ""
    no = "not" if frame.negated else ""
    return glue(there, agent, no, wording.verb(frame.predicate)[3], patient, rest)


def headline(frame: Frame, wording: Wording, shape: str) -> str:
    """No articles, present tense."""
    shape = shape or wording.chance.pick(("active", "active", "active", "passive", "colon", "nominal", "to"))
    no = "not" if frame.negated else ""
    place = ""
    if shape == "nominal" and not frame.negated and not frame.modal:
        text = nominal(frame, wording, "")
    else:
        agent, patient = wording.noun(frame.actor, ""), wording.noun(frame.patient, "")
        if shape == "colon" and frame.place:
            place = wording.noun(frame.place, "") + ":"
        rest = wording.adjuncts(frame, "", ("place",) if place else ()).joined()
        base, _, participle, _, _ = wording.verb(frame.predicate)
        if shape == "passive" and not frame.modal:
            text = glue(patient, no, participle, "by", agent, rest)
        elif shape == "to" and not frame.modal:
            text = glue(agent, no, "to", base, patient, rest)
        else:
            text = glue(place, agent, wording.active(frame, "present"), patient, rest)
    if frame.second and frame.second.agent and frame.conjunction:
        second = frame.second
        link = {"because": "as", "so": "and"}.get(frame.conjunction, frame.conjunction)
        verb = wording.active(second, "present")
        text = glue(text, link, wording.noun(frame.second.agent, ""), verb, wording.noun(second.patient, ""))
    return text


def question(frame: Frame, wording: Wording, shape: str) -> str:
    """A question about the focus of the frame; the question mark comes with the wrapper."""
    chance = wording.chance
    base, past, participle, _, _ = wording.verb(frame.predicate)
    patient = wording.noun(frame.patient, "the" if chance.flip(0.5) else "a")
    agent = wording.noun(frame.agent, "the") if frame.agent else ""
    rest = wording.adjuncts(frame, "the").joined()
    was = "were" if wording.is_plural(frame.patient) else "was"
    passive = shape == "passive" or (not shape and chance.flip(0.3))
    no = "not" if frame.negated else ""
    if frame.focus == "how":
        starts = ("how can i", "how do i", "what is the best way to", "how should someone", "how do you")
        return glue(chance.pick(starts), base, patient, rest)
    if frame.focus == "who":
        return glue("by whom", was, patient, participle, rest) if passive else glue("who", past, patient, rest)
    if frame.focus in ("where", "why"):
        short, long = {"where": ("where", "in which place"), "why": ("why", "for what reason")}[frame.focus]
        start = short if chance.flip(0.6) else long
        if passive:
            return glue(start, was, patient, no, participle, "by", agent, rest)
        return glue(start, "did", agent, no, base, patient, rest)
    if passive:
        return glue(was, patient, no, participle, "by", agent, rest)
    start = chance.pick(("did", "is it true that", "do you know whether"))
    verb = glue(no, base) if start == "did" else wording.active(frame._replace(modal=None), "past")
    return glue(start, agent, verb, patient, rest)


def forum(frame: Frame, wording: Wording, shape: str) -> str:
    """Advice to the reader where the frame has no agent, otherwise hearsay."""
    chance = wording.chance
    if frame.agent is None:
        starts = (
            ("you should not", "i would not", "it is a bad idea to", "please do not", "you must never")
            if frame.negated
            else ("you should", "i would", "my advice is to", "it is a good idea to", "you could always")
        )
        base = wording.verb(frame.predicate)[0]
        patient = wording.noun(frame.patient, "the" if chance.flip(0.5) else "a")
        return glue(chance.pick(starts), base, patient, wording.adjuncts(frame, "the").joined())
    tense = "past" if chance.flip(0.7) else "present"
    return clause(frame, wording, tense, "the" if chance.flip(0.5) else "a", shape or chance.pick(SHAPES))


def definition(frame: Frame, wording: Wording, shape: str) -> str:  # noqa: PLR0911 (one return per form)
    """A noun phrase that says what someone or something is."""
    chance = wording.chance
    base, _, participle, ing, third = wording.verb(frame.predicate)
    many_agents = wording.noun(frame.actor._replace(number="some"), "")
    many_patients = wording.noun(frame.patient._replace(number="some"), "")
    rest = wording.adjuncts(frame, "a", ("instrument",) if frame.focus == "instrument" else ()).joined()
    passive = shape == "passive" or (not shape and chance.flip(0.35))
    if frame.focus == "agent":
        person = wording.words.nouns[frame.actor.noun].above == "person"
        agent = wording.noun(frame.actor, "a")
        if passive:
            be = "are" if wording.is_plural(frame.patient._replace(number="some")) else "is"
            return glue(agent, "by whom" if person else "by which", many_patients, be, participle, rest)
        if shape == "front":
            return glue(agent, "whose job is to" if person else "known to", base, many_patients, rest)
        return glue(agent, "who" if person else "that", third, many_patients, rest)
    if frame.focus == "patient":
        if passive:
            return glue(wording.noun(frame.patient, "a"), "that is", participle, "by", many_agents, rest)
        if shape == "front":
            return glue("a kind of", wording.noun(frame.patient, ""), participle, "by", many_agents, rest)
        return glue(wording.noun(frame.patient, "a"), "that", many_agents, base, rest)
    instrument = wording.noun(frame.instrument or frame.patient, "a")
    if passive:
        return glue(instrument, "that is used to", base, many_patients, rest)
    if shape == "front":
        return glue(instrument, "used for", ing, many_patients, rest)
    return glue(instrument, "with which", many_agents, base, many_patients, rest)


REGISTERS = {
    "narration": Register(Rates(), _plain, narration, True),
    "news": Register(Rates(), _linked, narration, True),
    "caption": Register(Rates(0.35, 0.18, 0.35, 0.5, 0.05, 0.12, 0.0, 0.0), _plain, caption),
    "headline": Register(Rates(0.25, 0.12, 0.1, 0.4, 0.3, 0.05, 0.05, 0.06), _sometimes_linked, headline),
    "question": Register(Rates(0.2, 0.08, 0.15, 0.35, 0.2, 0.05, 0.0, 0.0, 0.04), _question_frame, question),
    "forum": Register(Rates(0.3, 0.1, 0.3, 0.4, 0.25, 0.2, 0.15, 0.1), _forum_frame, forum, True),
    "definition": Register(Rates(0.12, 0.0, 0.25, 0.45, 0.03, 0.12, 0.0, 0.0), _definition_frame, definition),
}
