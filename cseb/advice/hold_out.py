"""Distinct sentences in two parts: most to train on, and a seeded fifth that only judges see."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from cseb.data.corpus import Corpus, pack
from cseb.data.files import write_whole
from cseb.data.provenance import Provenance, sidecar
from cseb.data.subset import order
from cseb.errors import BadResults

HELD_OUT = 0.2  # of the distinct sentences
MOST_HELD = 5000  # sentences held out of a large corpus: more make judges slower and hardly surer


@dataclass(frozen=True, slots=True)
class Parts:
    """The lines of a corpus to train on, and the sentences held out.

    roles, provenance: of the corpus, see `Corpus`; of its lines the first text is held out.
    """

    train: Sequence[str]
    held_out: Sequence[str]
    roles: tuple[str, ...] = ()
    provenance: Provenance | None = None

    def save(self, folder: Path) -> Path:
        """Write both parts; gives the file to train on. The same corpus gives the same bytes. Raises: BadResults."""
        write(folder / "held-out.txt", "".join(f"{sentence}\n" for sentence in self.held_out))
        return self.write(folder / "train")

    def write(self, stem: Path) -> Path:
        """Write the lines to train on as a corpus of their own, which says of itself what the first one says.

        Gives its file: `stem`.txt or, with roles, .jsonl; where the sentences are from stands beside it. Raises:
        BadResults.
        """
        file = stem.with_suffix(".jsonl" if self.roles else ".txt")
        lines = self.train
        if self.roles:
            texts = (line.split("\t") for line in self.train)
            lines = [json.dumps(dict(zip(self.roles, each, strict=True)), ensure_ascii=False) for each in texts]
        write(file, "".join(f"{line}\n" for line in lines))
        if self.provenance is not None:  # a text in JSON is one in YAML
            fields = asdict(self.provenance).items()
            write(sidecar(file), "".join(f"{name}: {json.dumps(value)}\n" for name, value in fields))
        else:
            sidecar(file).unlink(missing_ok=True)
        return file

    @property
    def column(self) -> str:
        """How `--column` names the columns of that file."""
        return ",".join(f"{role}={role}" for role in self.roles)


def sentences_of(corpus: Corpus) -> Corpus:
    """The first text of every line where lines have roles, and else the corpus as it is."""
    return pack(corpus.name, corpus.texts(range(len(corpus)), ())) if corpus.roles else corpus


def split(corpus: Corpus, distinct: Sequence[int]) -> Parts:
    """Draw the held-out fifth by seed 0; both parts are in the order of the corpus.

    distinct: places of the lines to take.
    """
    held = set(order(len(distinct), 0)[: min(MOST_HELD, int(HELD_OUT * len(distinct)))].tolist())
    train = corpus.take(place for number, place in enumerate(distinct) if number not in held)
    held_out = corpus.texts((distinct[number] for number in sorted(held)), ())
    return Parts(train, held_out, corpus.roles, corpus.provenance)


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
