"""Count evaluation texts that occur in the pre-training text."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterable
from pathlib import Path

from benchmarks.pretrain.sources import Document, plain

SHORTEST = 5  # words: shorter evaluation texts are phrases that occur in any text
RUN = 8  # words that two texts must share in sequence to count as partly the same
SHIPPED = Path(__file__).parents[2] / "cseb" / "open_data"
SHIPPED_FOLDERS = ("tasks", "corpora")


def overlap(documents: Iterable[Document], evaluation: Path) -> dict[str, tuple[int, int, int]]:
    """Count, for each evaluation set, its texts, those that equal a training sentence, and those that share a run.

    The sets are the folders of `evaluation` and the data that cseb ships. A text is a field between tabs of at least
    five words. Case, punctuation and spaces are ignored. A run is eight words in sequence.
    """
    folders = [folder for folder in sorted(evaluation.iterdir()) if folder.is_dir()]
    folders += [SHIPPED / name for name in SHIPPED_FOLDERS]
    sets = {folder.name: texts(folder) for folder in folders}
    wanted = {plain(text) for fields in sets.values() for text in fields}
    wanted_runs = {run for fields in sets.values() for text in fields for run in runs(text)}
    equal: set[str] = set()
    shared: set[int] = set()
    for document in documents:
        if document.part == "train":
            for text in document.sentences:
                if (key := plain(text)) in wanted:
                    equal.add(key)
                shared.update(run for run in runs(text) if run in wanted_runs)
    return {
        name: (
            len(fields),
            sum(plain(text) in equal for text in fields),
            sum(not shared.isdisjoint(runs(text)) for text in fields),
        )
        for name, fields in sets.items()
    }


def texts(folder: Path) -> set[str]:
    """Return every text of the files below a folder."""
    fields = set()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        for line in content.decode("utf-8", errors="replace").splitlines():
            fields |= {field for field in line.split("\t") if len(field.split()) >= SHORTEST}
    return fields


def runs(text: str) -> list[int]:
    """Return a hash of every run of eight words of a text."""
    words = re.findall(r"\w+", text.lower())
    return [hash(tuple(words[start : start + RUN])) for start in range(len(words) - RUN + 1)]
