"""Named random streams: one seed gives every purpose its own, independent numbers.

Adding a method, a task or a purpose never shifts the numbers of another one, because a stream depends on nothing but
the seed and its own name.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable

# Parts draw from streams of their own below these: `init/mlp` its weights, `terms/ami` its choices, and from
# torch's own generators `dropout/terms/rtd`; the encoder's own dropout is `dropout` itself.
SUBSET, ORDER, INIT, DROPOUT, VIEWS, TERMS = "subset", "order", "init", "dropout", "views", "terms"


def stream_seed(seed: int, name: str) -> int:
    """Return a 63-bit seed for the stream `name`: the first eight bytes of sha256("seed/name"), sign bit cleared."""
    return int.from_bytes(hashlib.sha256(f"{seed}/{name}".encode()).digest()[:8], "big") >> 1


def distinct(names: Iterable[str]) -> list[str]:
    """Return the names, repeated ones with a number: ["mlm", "mlm"] as ["mlm", "mlm#2"]."""
    counts: Counter[str] = Counter()
    numbered = []
    for name in names:
        counts[name] += 1
        numbered.append(name if counts[name] == 1 else f"{name}#{counts[name]}")
    return numbered
