"""The text that encoders are pre-trained on: files of a folder, each with its licence, cut into documents of sentences.

Two parts are kept out of training: every fiftieth document, for held-out loss and accuracy, and the documents of
Wikipedia that become the low-shot corpus.
"""

from __future__ import annotations

import gzip
import hashlib
import lzma
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

LISTED = Path(__file__).with_name("sources.yaml")
PARAGRAPHS = 64  # lines of running text, or unrelated ones, that count as one document
HELD_OUT = 50  # one document in so many
CORPUS, CORPUS_SENTENCES = "wiki_all", 20_000  # where the low-shot corpus comes from, and its size
CORPUS_EVERY = 3  # documents of that file: one in so many becomes part of the corpus, until there are enough sentences

_END = re.compile(r"""[.!?…]["'”’)\]]*\s+(?=["'“‘(\[]?[A-Z0-9])""")
_ABBREVIATION = re.compile(
    r"(?:^|[\s(\"'])(?:[A-Za-z]|Mr|Mrs|Ms|Dr|St|Prof|Rev|Gen|Col|Capt|Lt|Sgt|Jr|Sr|vs|etc|cf|i\.e|e\.g|No|Fig|Inc|Co)\.$"
)


class BadText(Exception):
    """A folder of text that is not what `sources.yaml` describes."""


@dataclass(frozen=True, slots=True)
class Document:
    """Sentences of one source. linked: each really follows the one before. part: "train", "held out" or "corpus"."""

    source: str
    sentences: list[str]
    linked: bool
    part: str


def sentences_of(paragraph: str) -> list[str]:
    """A paragraph cut behind full stops, question and exclamation marks, except those of abbreviations."""
    found, start = [], 0
    for end in _END.finditer(paragraph):
        if _ABBREVIATION.search(paragraph[start : end.start() + 1]):
            continue
        found.append(paragraph[start : end.end()].strip())
        start = end.end()
    found.append(paragraph[start:].strip())
    return [sentence for sentence in found if sentence]


def read_documents(folder: Path, listed: Path = LISTED) -> Iterator[Document]:
    """All documents of the sources that `listed` says are used, file after file. Raises: BadText."""
    for name, facts in described(listed).items():
        if not facts["used"]:
            continue
        lines = _lines(folder, name, str(facts["sha256"]))
        linked, kept = facts["text"] != "lines", 0
        length = 1 if facts["text"] == "documents" else PARAGRAPHS
        for number, start in enumerate(range(0, len(lines), length)):
            sentences = [sentence for line in lines[start : start + length] for sentence in sentences_of(line)]
            part = "held out" if number % HELD_OUT == HELD_OUT - 1 else "train"
            if name == CORPUS and number % CORPUS_EVERY == 0 and part == "train" and kept < CORPUS_SENTENCES:
                part, kept = "corpus", kept + len(sentences)
            yield Document(name, sentences, linked, part)


def described(listed: Path = LISTED) -> dict[str, dict[str, object]]:
    """What a list of sources says, by file."""
    found: dict[str, dict[str, object]] = yaml.safe_load(listed.read_text("utf-8"))
    return found


def _lines(folder: Path, name: str, sha256: str) -> list[str]:
    for suffix, read in ((".txt", Path.read_bytes), (".txt.gz", _gunzip), (".txt.xz", _unxz)):
        path = folder / f"{name}{suffix}"
        if path.is_file():
            content = read(path)
            if (found := hashlib.sha256(content).hexdigest()) != sha256:
                raise BadText(
                    f"{path} has sha256 {found[:12]}..., not {sha256[:12]}... as its list says; another version?"
                )
            return content.decode("utf-8").splitlines()
    raise BadText(f"{folder} has no {name}.txt, {name}.txt.gz or {name}.txt.xz; each listed file must be there")


def _gunzip(path: Path) -> bytes:
    return gzip.decompress(path.read_bytes())


def _unxz(path: Path) -> bytes:
    return lzma.decompress(path.read_bytes())
