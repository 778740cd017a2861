"""Labelled text: a sentence, the same in other words, and something else in the same words."""

from collections.abc import Iterator

from cseb.microworld.chance import seeded
from cseb.microworld.edits import MAJOR, changed
from cseb.microworld.registers import REGISTERS
from cseb.microworld.topics import NEW
from cseb.microworld.wording import Wording
from cseb.microworld.world import World
from cseb.microworld.writer import RESERVED, fits, share_of, write

_REGISTERS = ("caption", "headline", "forum", "news")
_FIRST = 0.4  # how often the most common synonym is taken


def triples(count: int, seed: int = 0) -> Iterator[tuple[str, str, str]]:
    """`count` triples of a sentence, its paraphrase and a distractor with the same words and another meaning.

    They stand for the premise, entailed and contradicting sentence of inference corpora. The first triples do not
    depend on `count`; no sentence comes first twice, and none occurs in a task or in the dev set.
    """
    chance, world = seeded(seed, "triples"), World(NEW)
    reserved = frozenset(RESERVED.values())
    seen: set[str] = set()
    while len(seen) < count:
        register = chance.pick(_REGISTERS)
        way = REGISTERS[register]
        frame = way.draw(world, chance, way.rates)
        other = changed(frame, MAJOR, 1, world, chance)
        words = Wording(chance, _FIRST)
        anchor = write(register, frame, words)
        positive = write(register, frame, Wording(chance, _FIRST, avoid=words.used))
        negative = write(register, other, Wording(chance, _FIRST, keep=words.used))
        texts = (anchor, positive, negative)
        kept = all(fits(text) and share_of(text) not in reserved for text in texts)
        if kept and other != frame and len({*texts}) == len(texts) and anchor not in seen:
            seen.add(anchor)
            yield texts
