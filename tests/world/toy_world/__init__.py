"""Rated pairs of sentences that differ in known ways, offered to cseb as the tasks of a plug-in package."""

from dataclasses import dataclass
from pathlib import Path
from random import Random

from cseb.tasks.geometry import MEASURES, Geometry
from cseb.tasks.pairs import Pairs, RatedPairs

COUNT = 200  # pairs of a task
SLOTS = (
    (("man", "gentleman"), ("woman", "lady"), ("child", "kid"), ("doctor", "physician"), ("teacher", "tutor")),
    (("buys", "purchases"), ("fixes", "repairs"), ("throws", "tosses"), ("hides", "conceals"), ("carries", "hauls")),
    (("car", "automobile"), ("sofa", "couch"), ("stone", "rock"), ("picture", "image"), ("present", "gift")),
    (("street", "road"), ("shop", "store"), ("forest", "woods"), ("harbour", "port"), ("city", "town")),
)


def pairs(name: str) -> Pairs:
    """Return pairs of sentences of four slots; the gold score, 0 to 5, is the fraction of slots with equal meaning."""
    random = Random(name)  # the same everywhere
    left, right, gold = [], [], []
    for _ in range(COUNT):
        meanings = [random.randrange(len(slot)) for slot in SLOTS]
        changed = random.sample(range(len(SLOTS)), random.randint(0, len(SLOTS)))
        others = [
            (meaning + random.randrange(1, len(slot))) % len(slot) if number in changed else meaning
            for number, (slot, meaning) in enumerate(zip(SLOTS, meanings, strict=True))
        ]
        left.append(_sentence(random, meanings))
        right.append(_sentence(random, others))
        gold.append(5 - 5 * len(changed) / len(SLOTS))
    return Pairs(name, tuple(left), tuple(right), tuple(gold))


def _sentence(random: Random, meanings: list[int]) -> str:
    who, does, what, where = (random.choice(slot[number]) for slot, number in zip(SLOTS, meanings, strict=True))
    return f"{random.choice(('A', 'The'))} {who} {does} the {what} near the {where}."


@dataclass(frozen=True, slots=True)
class Toy:
    """Generated pairs whose score follows from what the sentences say. Source: our own."""

    name: str
    version: int = 1
    protocol: str = "toy-sts@1"

    def load(self, data_dir: Path | None) -> RatedPairs:
        """Return the pairs, the same everywhere; `data_dir` is not used."""
        return RatedPairs((pairs(self.name),))


CAPTIONS, FORUM, MIXED, RELATIONS = (Toy(f"toy-{name}") for name in ("captions", "forum", "mixed", "relations"))
DEV = Toy("toy-dev")
ALIGNMENT, UNIFORMITY, ANISOTROPY, EFFECTIVE_RANK = (
    Geometry(f"toy-{measure}", measure, DEV, "toy-dev") for measure in MEASURES
)
