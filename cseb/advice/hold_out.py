"""Distinct sentences in two parts: most to train on, and a seeded fifth that only judges see."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cseb.data.corpus import Corpus
from cseb.data.files import write_whole
from cseb.data.subset import order
from cseb.errors import BadResults

HELD_OUT = 0.2  # of the distinct sentences
MOST_HELD = 5000  # sentences held out of a large corpus: more make judges slower and hardly surer


@dataclass(frozen=True, slots=True)
class Parts:
    """The sentences to train on, and those held out."""

    train: Sequence[str]
    held_out: Sequence[str]

    def save(self, folder: Path) -> Path:
        """Write both parts; gives the file to train on. The same corpus gives the same bytes. Raises: BadResults."""
        file = folder / "train.txt"
        write(file, "".join(f"{sentence}\n" for sentence in self.train))
        write(folder / "held-out.txt", "".join(f"{sentence}\n" for sentence in self.held_out))
        return file


def split(corpus: Corpus, distinct: Sequence[int]) -> Parts:
    """Draw the held-out fifth by seed 0; both parts are in the order of the corpus.

    distinct: places of the sentences to take.
    """
    held = set(order(len(distinct), 0)[: min(MOST_HELD, int(HELD_OUT * len(distinct)))].tolist())
    train = corpus.take(place for number, place in enumerate(distinct) if number not in held)
    held_out = corpus.take(distinct[number] for number in sorted(held))
    return Parts(train, held_out)


def write(path: Path, text: str) -> None:
    """Write a file whole; one that has these bytes already is left alone, so that nobody's cache goes stale.

    Its folder is made with the first file in it: where nothing can be advised, none is left behind.

    Raises: BadResults.
    """
    content = text.encode()
    try:
        if path.is_file() and path.read_bytes() == content:
            return
        path.parent.mkdir(exist_ok=True)
        write_whole(path, [content])
    except OSError as error:
        raise BadResults(f"{path} cannot be written: {error.strerror or error}; name another --results") from error
