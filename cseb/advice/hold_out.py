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
    """The sentences to train on, those held out, and the file that the first ones lie in."""

    train: Sequence[str]
    held_out: Sequence[str]
    file: Path


def split(corpus: Corpus, distinct: Sequence[int], folder: Path) -> Parts:
    """Draw the held-out fifth by seed 0, and leave both parts in `folder`, in the order of the corpus.

    The same corpus gives the same bytes, so that records of an earlier call fit. distinct: places of the sentences to
    take. Raises: BadResults.
    """
    held = set(order(len(distinct), 0)[: min(MOST_HELD, int(HELD_OUT * len(distinct)))].tolist())
    train = corpus.take(place for number, place in enumerate(distinct) if number not in held)
    held_out = corpus.take(distinct[number] for number in sorted(held))
    file = folder / "train.txt"
    write(file, "".join(f"{sentence}\n" for sentence in train))
    write(folder / "held-out.txt", "".join(f"{sentence}\n" for sentence in held_out))
    return Parts(train, held_out, file)


def write(path: Path, text: str) -> None:
    """Write a file whole; one that has these bytes already is left alone, so that nobody's cache goes stale.

    Raises: BadResults.
    """
    content = text.encode()
    try:
        if path.is_file() and path.read_bytes() == content:
            return
        write_whole(path, [content])
    except OSError as error:
        raise BadResults(f"{path} cannot be written: {error.strerror or error}; name another --results") from error
