"""How much of the pre-training text occurs in texts that encoders are evaluated on."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from benchmarks.pretrain.sources import Document

SHORTEST = 5  # words of a text that is looked for: shorter ones are phrases that anybody writes


def overlap(documents: Iterable[Document], evaluation: Path) -> dict[str, tuple[int, int]]:
    """By each folder of `evaluation`: how many of its texts also stand in the pre-training text, and how many it has.

    A text is a field between tabs of a file, of five words or more; case, punctuation and spaces are ignored. It stands
    in the pre-training text if a sentence there is the same.
    """
    sets = {folder.name: texts(folder) for folder in sorted(evaluation.iterdir()) if folder.is_dir()}
    wanted, met = set().union(*sets.values()), Counter[str]()
    for one in documents:
        if one.part == "train":
            met.update(found for text in one.sentences if (found := plain(text)) in wanted)
    return {name: (sum(text in met for text in held), len(held)) for name, held in sets.items()}


def texts(folder: Path) -> set[str]:
    """Every text of the files below a folder, as `plain` has it."""
    found = set()
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            for line in path.read_text("utf-8", errors="replace").splitlines():
                found |= {plain(field) for field in line.split("\t") if len(field.split()) >= SHORTEST}
    return found


def plain(text: str) -> str:
    """Letters and digits alone, in lower case."""
    return re.sub(r"[\W_]+", "", text.lower())
