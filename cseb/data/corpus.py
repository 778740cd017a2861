"""A corpus: sentences in one block of memory, and the hash that names exactly these sentences."""

from __future__ import annotations

import hashlib
import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cseb.data.provenance import Provenance
from cseb.errors import BadData
from cseb.text import quantity

_LINE_BREAK = re.compile(r"\s*\n\s*")


@dataclass(frozen=True, slots=True, eq=False)
class Corpus:
    """Sentences in order: a million of them take little more memory than their text."""

    name: str  # as the user typed it
    sha256: str  # hash of the sentences, each in UTF-8 and followed by a line feed; before them the roles, if any
    blank: int  # number of blank lines, which were dropped
    text: bytearray  # the hashed bytes
    starts: npt.NDArray[np.int64]  # (N + 1,) offsets into them; sentence i ends with its line feed at `starts[i + 1]`
    provenance: Provenance | None = None  # of sentences that a language model wrote, from a file beside the corpus
    roles: tuple[str, ...] = ()  # of the texts that TABs join in each line, see `cseb.data.columns`; () for plain lines

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, index: int) -> str:
        place = range(len(self))[index]  # checks the bounds and counts negative indices from the end
        return self.text[self.starts[place] : self.starts[place + 1] - 1].decode()

    def __iter__(self) -> Iterator[str]:
        return map(self.__getitem__, range(len(self)))

    def columns(self) -> npt.NDArray[np.int64]:
        """Return the number of texts that TABs join in each line: (N,)."""
        tabs = np.flatnonzero(np.frombuffer(self.text, dtype=np.uint8) == ord("\t"))
        return 1 + np.diff(np.searchsorted(tabs, self.starts))

    def take(self, indices: Iterable[int]) -> list[str]:
        """Return the sentences at these places, in the order asked for."""
        return [self[index] for index in indices]

    def texts(self, indices: Iterable[int], wanted: Sequence[str]) -> list[str]:
        """Return the sentences at these places; of lines with roles only the texts that are `wanted`, or the first.

        Raises: BadData if the corpus has no such role.
        """
        if not self.roles:
            return self.take(indices)
        if lacking := [role for role in wanted if role not in self.roles]:
            raise BadData(f"{self.name} has the columns {', '.join(self.roles)}, and none is {lacking[0]}")
        places = [self.roles.index(role) for role in wanted or self.roles[:1]]
        lines = (line.split("\t") for line in self.take(indices))
        return ["\t".join(line[place] for place in places) for line in lines]


def pack(name: str, rows: Iterable[str], roles: tuple[str, ...] = ()) -> Corpus:
    """Return the corpus of these rows, blank ones left out. roles: see Corpus. Raises: BadData."""
    text, starts, blank = bytearray(), array("q", [0]), 0
    try:
        for row in rows:
            sentence = row.strip()
            if not sentence:
                blank += 1
                continue
            if "\n" in sentence:  # a cell of a table may hold several lines, a sentence is one
                sentence = _LINE_BREAK.sub(" ", sentence)
            text += sentence.encode()
            text += b"\n"
            starts.append(len(text))
    except UnicodeEncodeError:
        raise BadData(
            f"{name}, row {blank + len(starts)} holds an unpaired surrogate, invalid as text; correct that row"
        ) from None
    if not text:
        raise BadData(f"{name} holds no sentence, only {quantity(blank, 'blank row')}; one a line or row is needed")
    digest = hashlib.sha256("\t".join(roles).encode() + b"\n" if roles else b"")
    digest.update(text)
    return Corpus(name, digest.hexdigest(), blank, text, np.frombuffer(starts, dtype=np.int64), roles=roles)
