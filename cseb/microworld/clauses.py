"""One event as a clause: active, passive, cleft, or with an adjunct in front."""

from cseb.microworld.chance import Chance
from cseb.microworld.frames import Frame
from cseb.microworld.wording import Wording, glue

SHAPES = ("active", "passive", "front")  # the shapes every register knows
_INTRANSITIVE_MODALS = ("want", "try", "plan")  # say something about the agent, so no passive
_SWAPPED = {"after": "before", "before": "after"}
_LEADING = ("because", "while", "after", "before", "when")


def shape_of(chance: Chance) -> str:
    """A clause shape as often as narration has it."""
    share = chance.random()
    if share < 0.56:
        return "active"
    if share < 0.76:
        return "passive"
    if share < 0.88:
        return "front"
    return "cleft_agent" if share < 0.94 else "cleft_patient" if share < 0.97 else "what"


def clause(frame: Frame, wording: Wording, tense: str, article: str, shape: str) -> str:  # noqa: PLR0911 (one return per form)
    """The frame in one clause of this shape, without its second event."""
    chance = wording.chance
    if frame.modal in _INTRANSITIVE_MODALS and shape in ("passive", "cleft_patient", "what"):
        shape = "active"
    agent = wording.noun(frame.actor, article)
    patient = wording.noun(frame.patient, article if chance.flip(0.6) or not article else "a")
    manner, instrument, place, time = wording.adjuncts(frame, article)
    if shape == "passive":
        verb = wording.passive(frame, tense)
        if chance.flip(0.6):
            return glue(patient, verb, "by", agent, manner, instrument, place, time)
        return glue(patient, verb, manner, place, "by", agent, instrument, time)
    verb = wording.active(frame, tense)
    was = "was" if tense == "past" else "is"
    rest = glue(manner, instrument, place, time)
    if shape == "cleft_agent":
        who = "who" if wording.words.nouns[frame.actor.noun].above == "person" else "that"
        return glue("it", was, agent, who, verb, patient, rest)
    if shape == "cleft_patient":
        return glue("it", was, patient, "that", agent, verb, rest)
    if shape == "what":
        return glue("what", agent, verb, rest, was, patient)
    if shape == "front" and (place or time):
        if time and (not place or chance.flip(0.5)):
            return glue(time + ",", agent, verb, patient, manner, instrument, place)
        return glue(place + ",", agent, verb, patient, manner, instrument, time)
    if manner and tense == "past" and " " not in manner and not frame.negated and not frame.modal and chance.flip(0.5):
        return glue(agent, manner, verb, patient, instrument, place, time)
    return glue(agent, verb, patient, rest)


def sentence(frame: Frame, wording: Wording, tense: str, article: str, shape: str) -> str:
    """The frame as a clause, and its second event as another one around the conjunction."""
    main = clause(frame, wording, tense, article, shape)
    if frame.second is None or frame.conjunction is None:
        return main
    chance, link = wording.chance, frame.conjunction
    other_tense = "past" if tense == "perfect" else tense
    other = clause(frame.second, wording, other_tense, "the", "active" if chance.flip(0.5) else shape_of(chance))
    if link in _SWAPPED and chance.flip(0.3):
        return f"{other} {_SWAPPED[link]} {main}"
    if link in _LEADING and chance.flip(0.35):
        return f"{link} {other}, {main}"
    return f"{main}, {link} {other}" if link in ("but", "so", "and") else f"{main} {link} {other}"


def nominal(frame: Frame, wording: Wording, article: str) -> str:
    """The frame as a noun phrase: the baking of bread by the chef."""
    ing = wording.verb(frame.predicate)[3]
    agent, patient = wording.noun(frame.actor, article), wording.noun(frame.patient, article)
    rest = wording.adjuncts(frame, article, ("manner",)).joined()
    if " " in ing:
        return glue(agent, ing, patient, rest)
    return glue(article and "the", ing, "of", patient, "by", agent, rest)
