"""Named random streams: one seed gives every purpose its own, independent numbers.

Adding a method, a task or a purpose never shifts the numbers of another one, because a stream depends on nothing but
the seed and its own name.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

SUBSET, ORDER, INIT, DROPOUT, VIEWS, TERMS = "subset", "order", "init", "dropout", "views", "terms"


# What may vary alone, for finding out where the spread between runs comes from. Every draw of a training step belongs
# to dropout: masks, views and terms are noise of the same kind.
VARIED: Mapping[str, tuple[str, ...]] = {
    "subset": (SUBSET,),
    "init": (INIT,),
    "order": (ORDER,),
    "dropout": (DROPOUT, VIEWS, TERMS),
}
ALL = "all"


@dataclass(frozen=True, slots=True)
class Alone:
    """A seed for what `vary` names, one of VARIED; all other streams are those of seed 0."""

    seed: int
    vary: str

    def of(self, name: str) -> int:
        """The seed that the stream `name` is under."""
        return self.seed if name in VARIED[self.vary] else 0


Seed = int | Alone


def stream_seed(seed: Seed, name: str) -> int:
    """A 63-bit seed for the stream `name`: the first eight bytes of sha256("seed/name"), sign bit cleared."""
    if isinstance(seed, Alone):
        seed = seed.of(name)
    return int.from_bytes(hashlib.sha256(f"{seed}/{name}".encode()).digest()[:8], "big") >> 1
