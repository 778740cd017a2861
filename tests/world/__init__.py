"""A small world for tests: a benchmark file, and a plug-in package (`toy_world`) with rated pairs that score at once.

Importing this module puts the folder on the path of this process and of those that it starts.
"""

import os
import sys
from pathlib import Path

HOME = Path(__file__).parent
if str(HOME) not in sys.path:
    sys.path.insert(0, str(HOME))
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(HOME), os.environ.get("PYTHONPATH"))))
WORLD = str(HOME / "world.yaml")  # a benchmark that trains in seconds
EXPECTED = HOME.parents[1] / "benchmarks" / "expected" / "demo"  # records of a real grid


def triples(count: int) -> list[str]:
    """Return lines of a sentence, a paraphrase and a contradiction, joined by TABs."""
    people, things = ("boy", "girl", "cook", "nurse", "clerk"), ("bread", "soup", "rice", "fish", "cake")
    kinds = [(who, what, number) for number in range(count // 25 + 1) for who in people for what in things]
    return [
        f"a {who} eats {what} number {number}\tthe {who} is eating {what} number {number}\tno {who} has any {what}"
        for who, what, number in kinds[:count]
    ]
