"""A miniature transfer task: sentences with the topic they are about."""

from functools import cache
from typing import NamedTuple

from cseb.microworld.chance import seeded
from cseb.microworld.registers import REGISTERS
from cseb.microworld.topics import NEW
from cseb.microworld.wording import Wording
from cseb.microworld.world import World
from cseb.microworld.writer import RESERVED, fits, share_of, write

LABELLED = ("mw-topics",)
_COUNT = 600
_REGISTERS = ("caption", "headline", "forum", "question")


class Labelled(NamedTuple):
    """Sentences and the label of each; labels are equally frequent and count from 0 in `names`."""

    sentences: list[str]
    labels: list[int]
    names: tuple[str, ...]


@cache
def labelled(name: str = "mw-topics") -> Labelled:
    """Sentences of the six topics of the low-shot corpus, none of which is in a corpus.

    Raises: KeyError if no task is called so.
    """
    if name not in LABELLED:
        raise KeyError(name)
    names = tuple(sorted(NEW))
    chance = seeded(0, name)
    worlds = [World({topic: 1}) for topic in names]
    found: dict[str, int] = {}
    while len(found) < _COUNT:
        label = len(found) % len(names)
        register = chance.pick(_REGISTERS)
        way = REGISTERS[register]
        world = worlds[label]
        frame = way.draw(world, chance, way.rates)
        if world.words.nouns[frame.patient.noun].topic != names[label]:
            continue
        text = write(register, frame, Wording(chance, 0.4), "", 0.15)
        if fits(text) and share_of(text) == RESERVED["test"]:
            found.setdefault(text, label)
    return Labelled(list(found), list(found.values()), names)
