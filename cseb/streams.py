"""Named random streams: one seed gives every purpose its own, independent numbers.

Adding a method, a task or a purpose never shifts the numbers of another one, because a stream depends on nothing but
the seed and its own name.
"""

from __future__ import annotations

import hashlib

SUBSET, ORDER, INIT, DROPOUT, VIEWS, TERMS = "subset", "order", "init", "dropout", "views", "terms"


def stream_seed(seed: int, name: str) -> int:
    """A 63-bit seed for the stream `name`: the first eight bytes of sha256("seed/name"), sign bit cleared."""
    return int.from_bytes(hashlib.sha256(f"{seed}/{name}".encode()).digest()[:8], "big") >> 1
