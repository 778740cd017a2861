"""A miniature retrieval task: questions, and the documents that answer them."""

from functools import cache
from typing import NamedTuple

from cseb.microworld.chance import Chance, seeded
from cseb.microworld.clauses import SHAPES
from cseb.microworld.edits import MAJOR, changed
from cseb.microworld.frames import Frame
from cseb.microworld.registers import REGISTERS
from cseb.microworld.topics import NEW
from cseb.microworld.wording import Wording
from cseb.microworld.world import World
from cseb.microworld.writer import RESERVED, fits, share_of, write

RETRIEVAL = ("mw-faq",)
_QUERIES = 150
_TRIES = 60  # wordings tried until one falls into the reserved share of sentences


class Retrieval(NamedTuple):
    """Queries, documents, and for each query the index of the one document that answers it."""

    queries: list[str]
    documents: list[str]
    relevant: list[int]


@cache
def queries(name: str = "mw-faq") -> Retrieval:
    """Questions about an event; one document tells it in other words, two tell a similar event in the same words.

    Raises: KeyError if no task is called so.
    """
    if name not in RETRIEVAL:
        raise KeyError(name)
    chance = seeded(0, name)
    world = World(NEW)
    found = Retrieval([], [], [])
    while len(found.queries) < _QUERIES:
        frame = world.frame(chance, REGISTERS["forum"].rates)._replace(negated=False, modal=None)
        words: dict[str, int] = {}
        asked = frame._replace(focus="where" if frame.place else "why", place=None)
        question = _written(chance, "question", asked, words, {})
        texts = [_written(chance, "narration", frame, {}, words)]
        texts += [_written(chance, "narration", changed(frame, MAJOR, 1, world, chance), words, {}) for _ in range(2)]
        sentences_found = [text for text in texts if text]
        if not question or question in found.queries or len({*sentences_found} - {*found.documents}) < len(texts):
            continue
        found.queries.append(question)
        found.relevant.append(len(found.documents))
        found.documents.extend(sentences_found)
    return found


def _written(chance: Chance, register: str, frame: Frame, keep: dict[str, int], avoid: dict[str, int]) -> str:
    """A sentence of the split reserved for tests, empty if none was found; new choices of words are added to `keep`."""
    for _ in range(_TRIES):
        wording = Wording(chance, 0.4, keep, avoid)
        text = write(register, frame, wording, chance.pick(SHAPES), 0.15)
        if fits(text) and share_of(text) == RESERVED["test"]:
            keep.update(wording.used)
            return text
    return ""
