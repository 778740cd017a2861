"""Words for parts of a frame: noun phrases, adjuncts and verb groups."""

from collections.abc import Collection, Mapping
from typing import NamedTuple

from cseb.microworld.chance import Chance
from cseb.microworld.frames import Frame, NounPhrase
from cseb.microworld.lexicon import Forms, Lexicon, lexicon

_SOUNDS_CONSONANT = ("uni", "use", "uten", "one")
_COUNT = {"two": "two", "three": "three", "many": "many"}
# modal: present singular, present plural, past, and the verb that is negated with "do not"
_MODAL = {
    "want": ("wants to", "want to", "wanted to", "want to"),
    "must": ("must", "must", "had to", "have to"),
    "can": ("can", "can", "managed to", "manage to"),
    "try": ("tries to", "try to", "tried to", "try to"),
    "plan": ("plans to", "plan to", "planned to", "plan to"),
}
_PASSIVE_MODAL = {"must": ("must", "had to"), "can": ("can", "could")}


class Adjuncts(NamedTuple):
    """The optional parts of a clause in words, empty where absent."""

    manner: str
    instrument: str
    place: str
    time: str

    def joined(self) -> str:
        """All of them in their usual order."""
        return glue(*self)


def glue(*parts: str) -> str:
    """The non-empty parts with one blank between them."""
    return " ".join([part for part in parts if part])


def with_article(text: str) -> str:
    """The text behind a or an."""
    vowel = text[0] in "aeiou" and not text.startswith(_SOUNDS_CONSONANT)
    return ("an " if vowel else "a ") + text


class Wording:
    """One choice of synonyms, kept through a sentence.

    `first` is how often the most common synonym is taken. Words in `avoid` are taken only if there is no other;
    choices in `keep` (identifier to index of the synonym) are taken again.
    """

    def __init__(
        self,
        chance: Chance,
        first: float = 0.55,
        keep: Mapping[str, int] | None = None,
        avoid: Mapping[str, int] | None = None,
    ) -> None:
        self.chance = chance
        self.first = first
        self.avoid = avoid or {}
        self.used: dict[str, int] = dict(keep) if keep else {}
        self.words: Lexicon = lexicon()

    def choose(self, name: str, count: int) -> int:
        """Index of the synonym for the identifier `name`, of `count` there are."""
        index = self.used.get(name)
        if index is None or index >= count:
            index = 0
            if count > 1:
                if name in self.avoid:
                    index = (self.avoid[name] + 1 + self.chance.below(count - 1)) % count
                elif not self.chance.flip(self.first):
                    index = 1 + self.chance.below(count - 1)
            self.used[name] = index
        return index

    def verb(self, predicate: str) -> Forms:
        """Base, past, participle, -ing and third person of the chosen verb."""
        verbs = self.words.predicates[predicate].verbs
        return verbs[self.choose(predicate, len(verbs))]

    def noun(self, phrase: NounPhrase, article: str) -> str:
        """The phrase in words; `article` is the, a, or empty for headline style."""
        entry = self.words.nouns[phrase.noun]
        singular, plural = entry.forms[self.choose(phrase.noun, len(entry.forms))]
        if phrase.adjective:
            synonyms = self.words.adjectives[phrase.adjective].synonyms
            adjective = synonyms[self.choose(phrase.adjective, len(synonyms))] + " "
        else:
            adjective = ""
        if phrase.number != "one" and not entry.mass:
            count = _COUNT.get(phrase.number) or {"the": "the", "a": "some", "": ""}[article]
            return f"{count} {adjective}{plural}" if count else adjective + plural
        if article == "the":
            return f"the {adjective}{singular}"
        if article == "a" and not entry.mass:
            return with_article(adjective + singular)
        return adjective + singular

    def is_plural(self, phrase: NounPhrase | None) -> bool:
        """Whether a verb agrees with the phrase in the plural."""
        return phrase is not None and phrase.number != "one" and not self.words.nouns[phrase.noun].mass

    def place(self, phrase: NounPhrase, article: str) -> str:
        """The phrase behind in, on or at."""
        text = self.noun(phrase, article)
        head = self.words.nouns[phrase.noun].forms[self.used[phrase.noun]][0]
        preposition = "on" if head in self.words.on_places else "at" if head in self.words.at_places else "in"
        return f"{preposition} {text}"

    def adjuncts(self, frame: Frame, article: str, leave_out: Collection[str] = ()) -> Adjuncts:
        """Manner, instrument, place and time in words."""
        manner = instrument = place = time = ""
        if frame.manner and "manner" not in leave_out:
            synonyms = self.words.manners[frame.manner].synonyms
            manner = synonyms[self.choose(frame.manner, len(synonyms))]
        if frame.instrument and "instrument" not in leave_out:
            preposition = "using" if self.chance.flip(0.33) else "with"
            instrument = f"{preposition} {self.noun(frame.instrument, self._loose(article))}"
        if frame.place and "place" not in leave_out:
            place = self.place(frame.place, self._loose(article))
        if frame.time and "time" not in leave_out:
            synonyms = self.words.times[frame.time]
            time = synonyms[self.choose(frame.time, len(synonyms))]
        return Adjuncts(manner, instrument, place, time)

    def _loose(self, article: str) -> str:
        """The or a, unless articles are left out altogether."""
        return ("the" if self.chance.flip(0.5) else "a") if article else ""

    def active(self, frame: Frame, tense: str) -> str:  # noqa: PLR0911 (one return per form)
        """The verb group with the agent as its subject; tense is past, present, progressive, perfect or future."""
        base, past, participle, ing, third = self.verb(frame.predicate)
        plural = self.is_plural(frame.agent)
        no = " not" if frame.negated else ""
        if frame.modal:
            singular, several, before, negated = _MODAL[frame.modal]
            if frame.negated:
                auxiliary = "did" if tense == "past" else "do" if plural else "does"
                return f"{auxiliary} not {negated} {base}"
            return f"{before if tense == 'past' else several if plural else singular} {base}"
        if tense == "past":
            return f"did not {base}" if frame.negated else past
        if tense == "progressive":
            return f"{'are' if plural else 'is'}{no} {ing}"
        if tense == "perfect":
            return f"{'have' if plural else 'has'}{no} {participle}"
        if tense == "future":
            return f"will{no} {base}"
        if frame.negated:
            return f"{'do' if plural else 'does'} not {base}"
        return base if plural else third

    def passive(self, frame: Frame, tense: str) -> str:
        """The verb group with the patient as its subject."""
        participle = self.verb(frame.predicate)[2]
        plural = self.is_plural(frame.patient)
        no = " not" if frame.negated else ""
        if frame.modal in _PASSIVE_MODAL:
            return f"{_PASSIVE_MODAL[frame.modal][tense == 'past']}{no} be {participle}"
        if tense == "past":
            return f"{'were' if plural else 'was'}{no} {participle}"
        if tense == "perfect":
            return f"{'have' if plural else 'has'}{no} been {participle}"
        if tense == "future":
            return f"will{no} be {participle}"
        being = " being" if tense == "progressive" else ""
        return f"{'are' if plural else 'is'}{no}{being} {participle}"
