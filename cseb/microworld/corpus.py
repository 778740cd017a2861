"""Unlabelled text: the low-shot corpus, and the general text that the encoder is pre-trained on."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from cseb.microworld.chance import Chance, seeded, weighted
from cseb.microworld.encyclopedia import entry
from cseb.microworld.registers import REGISTERS
from cseb.microworld.topics import GENERAL, NEW
from cseb.microworld.wording import Wording
from cseb.microworld.world import World
from cseb.microworld.writer import RESERVED, fits, share_of, write

ENCYCLOPEDIA = "encyclopedia"


_RETOLD = ("narration", "caption", "headline", "forum")


class Source(NamedTuple):
    """Where text comes from."""

    topics: Mapping[str, int]  # weights
    registers: Mapping[str, int]  # weights
    wrapped: float  # how often an opening, and a closing, surrounds a sentence
    first: float  # how often the most common synonym is taken


_NEW = Source(
    NEW,
    {"caption": 20, "headline": 20, "question": 16, "forum": 20, "definition": 12, "news": 12},
    wrapped=0.15,
    first=0.4,
)
_GENERAL = Source(
    GENERAL,
    {"narration": 50, "news": 26, ENCYCLOPEDIA: 14}
    | dict.fromkeys(("caption", "headline", "question", "forum", "definition"), 2),
    wrapped=0.1,
    first=0.55,
)


def sentences(count: int, seed: int = 0) -> Iterator[str]:
    """`count` distinct sentences of 5 to 25 words from the topics and registers of the tasks.

    The first sentences do not depend on `count`. None of them occurs in a task or in the dev set.
    """
    return _distinct(count, seeded(seed, "corpus"), _NEW)


def general_sentences(count: int, seed: int = 0) -> Iterator[str]:
    """`count` distinct sentences for pre-training: mostly other topics and registers, and encyclopedia entries."""
    return _distinct(count, seeded(seed, "general"), _GENERAL)


def retellings(count: int, seed: int = 0) -> Iterator[tuple[str, str]]:
    """`count` pairs of general sentences that say the same in other words, often in another register.

    They serve pre-training only: what the one sentence hides can be read off the other.
    """
    chance, world = seeded(seed, "retellings"), World(GENERAL)
    reserved = frozenset(RESERVED.values())
    seen: set[str] = set()
    while len(seen) < count:
        frame = world.frame(chance, REGISTERS["narration"].rates)
        words = Wording(chance, _GENERAL.first)
        one = write(chance.pick(_RETOLD), frame, words)
        other = write(chance.pick(_RETOLD), frame, Wording(chance, _GENERAL.first, avoid=words.used))
        kept = all(fits(text) and share_of(text) not in reserved for text in (one, other))
        if kept and one != other and one not in seen:
            seen.add(one)
            yield one, other


def _distinct(count: int, chance: Chance, source: Source) -> Iterator[str]:
    """Sentences written one after another, without those seen before and those reserved for tasks."""
    world = World(source.topics)
    registers = weighted(list(source.registers), list(source.registers.values()))
    reserved = frozenset(RESERVED.values())
    seen: set[str] = set()
    while len(seen) < count:
        text = _one(chance, world, chance.draw(registers), source)
        if text not in seen and fits(text) and share_of(text) not in reserved:
            seen.add(text)
            yield text


def _one(chance: Chance, world: World, register: str, source: Source) -> str:
    if register == ENCYCLOPEDIA:
        return entry(world, chance)
    way = REGISTERS[register]
    return write(register, way.draw(world, chance, way.rates), Wording(chance, source.first), "", source.wrapped)
