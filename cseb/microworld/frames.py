"""What a sentence says, apart from its words."""

from typing import NamedTuple


class NounPhrase(NamedTuple):
    """A noun with an optional adjective; `number` is one, two, three, some or many."""

    noun: str
    adjective: str | None = None
    number: str = "one"


class Frame(NamedTuple):
    """One event with its roles; `second` is an event linked to it by `conjunction`.

    `focus` is what a question asks for (how, who, where, why, whether) or what a definition defines (agent,
    patient, instrument); elsewhere None. `agent` is None where the reader, or nobody in particular, acts.
    """

    predicate: str
    agent: NounPhrase | None
    patient: NounPhrase
    instrument: NounPhrase | None = None
    place: NounPhrase | None = None
    time: str | None = None
    manner: str | None = None
    modal: str | None = None
    negated: bool = False
    focus: str | None = None
    conjunction: str | None = None
    second: "Frame | None" = None

    @property
    def actor(self) -> NounPhrase:
        """The agent of a frame that must have one.

        Raises: ValueError if the frame has none.
        """
        if self.agent is None:
            raise ValueError("this way of writing needs an agent")
        return self.agent
