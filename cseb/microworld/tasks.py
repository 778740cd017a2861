"""Sentence pairs with a gold score from 0 to 5, made from frames: seven test tasks and a dev set."""

from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from cseb.microworld.chance import Chance, seeded
from cseb.microworld.clauses import SHAPES
from cseb.microworld.edits import CONTENT, MAJOR, MINOR, RELATIONS, Edit, changed, decoy
from cseb.microworld.frames import Frame
from cseb.microworld.gold import gold
from cseb.microworld.registers import REGISTERS
from cseb.microworld.topics import NEW
from cseb.microworld.wording import Wording
from cseb.microworld.world import World
from cseb.microworld.writer import RESERVED, fits, share_of, write

LEVELS = 5  # bands of the gold score, equally filled
_TRIES = 60  # wordings tried until one falls into the reserved share of sentences
_CLOSE = 3.0  # pairs of at least this score get other words, the rest gets the same words, as often as a recipe says


class Pairs(NamedTuple):
    """Two lists of sentences and the score of each pair, all of one length."""

    left: list[str]
    right: list[str]
    gold: list[float]


class Recipe(NamedTuple):
    """What a task is made of."""

    registers: tuple[str, ...]
    edits: tuple[Edit, ...] = MAJOR  # the larger changes
    size: int = 500
    wrapped: float = 0.15  # how often an opening, and a closing, surrounds a sentence
    other_words: float = 0.6  # share of close pairs written in other words
    same_words: float = 0.45  # share of distant pairs written in the same words


DEV = "mw-dev"
RECIPES = {
    "mw-captions": Recipe(("caption",)),
    "mw-headlines": Recipe(("headline",)),
    "mw-questions": Recipe(("question",), CONTENT),
    "mw-definitions": Recipe(("definition",), CONTENT),
    "mw-forum": Recipe(("forum",)),
    "mw-mixed": Recipe(("caption", "headline", "news", "forum")),
    "mw-relations": Recipe(("caption",), RELATIONS),
    DEV: Recipe(("caption", "headline", "news", "forum"), MAJOR, 400),
}
TASKS = tuple(name for name in RECIPES if name != DEV)


class _Written(NamedTuple):
    text: str
    frame: Frame


@cache
def _world() -> World:
    """One for all tasks: its frequencies are computed on first use."""
    return World(NEW)


@cache
def pairs(name: str) -> Pairs:
    """The pairs of a task or of the dev set.

    Raises: KeyError if no task is called so.
    """
    recipe = RECIPES[name]
    chance = seeded(0, name)
    share = RESERVED["dev" if name == DEV else "test"]
    maker = _Maker(recipe, share, _world(), chance)
    room = [recipe.size // LEVELS] * LEVELS
    found: dict[tuple[str, str], float] = {}
    while any(room):
        for one, other in maker.group():
            score = gold(one.frame, other.frame)
            level = min(LEVELS - 1, int(score * LEVELS / 5))
            if room[level] and one.text != other.text and (one.text, other.text) not in found:
                room[level] -= 1
                found[one.text, other.text] = score
    return Pairs([a for a, _ in found], [b for _, b in found], list(found.values()))


class _Maker:
    """Writes groups of sentences around an anchor."""

    def __init__(self, recipe: Recipe, share: int, world: World, chance: Chance) -> None:
        self.recipe, self.share, self.world, self.chance = recipe, share, world, chance

    def group(self) -> list[tuple[_Written, _Written]]:
        """Pairs of an anchor with up to four partners, and of each partner with the next."""
        chance, recipe = self.chance, self.recipe
        register = chance.pick(recipe.registers)
        way = REGISTERS[register]
        frame = way.draw(self.world, chance, way.rates)
        shape = chance.pick(SHAPES)
        written = self._write(register, frame, shape, {}, {})
        if written is None:
            return []
        anchor, words = written
        partners = []
        for changes in ((0, 0), chance.pick(((0, 1), (0, 2))), chance.pick(((1, 0), (1, 1))), (2, 0), None):
            if changes is None:
                other = decoy(frame, way, self.world, chance)
            else:
                major, minor = changes
                other = changed(frame, recipe.edits, major, self.world, chance) if major else frame
                other = changed(other, MINOR, minor, self.world, chance) if minor else other
            close = gold(frame, other) >= _CLOSE
            keep = avoid = {}
            other_shape = ""
            if close and chance.flip(recipe.other_words):
                avoid, other_shape = words, chance.pick([name for name in SHAPES if name != shape])
            elif not close and chance.flip(recipe.same_words):
                keep, other_shape = words, shape
            partner = self._write(register, other, other_shape, keep, avoid)
            if partner is not None:
                partners.append(partner[0])
        return [(anchor, partner) for partner in partners] + list(pairwise(partners))

    def _write(
        self, register: str, frame: Frame, shape: str, keep: dict[str, int], avoid: dict[str, int]
    ) -> tuple[_Written, dict[str, int]] | None:
        """A sentence of the reserved split, and its choice of synonyms; None if none was found."""
        for _ in range(_TRIES):
            wording = Wording(self.chance, 0.4, keep, avoid)
            text = write(register, frame, wording, shape, self.recipe.wrapped)
            if fits(text) and share_of(text) == self.share:
                return _Written(text, frame), wording.used
        return None


def all_sentences(names: Sequence[str] = (*TASKS, DEV)) -> frozenset[str]:
    """Every distinct sentence of these tasks."""
    return frozenset(text for name in names for text in (*pairs(name).left, *pairs(name).right))
