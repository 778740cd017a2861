"""Read the text that encoders are pre-trained on: files of one folder, cut into documents of sentences.

Two parts are excluded from training: every fiftieth document, for held-out loss and accuracy, and the Wikipedia
documents that form the low-shot corpus.
"""

from __future__ import annotations

import gzip
import hashlib
import lzma
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import yaml

LISTED = Path(__file__).with_name("sources.yaml")
PARAGRAPHS = 64  # lines per document, for sources whose lines are not documents themselves
HELD_OUT = 50  # one document in 50
CORPUS, CORPUS_SENTENCES = "wiki_all", 20_000  # source and size of the low-shot corpus
CORPUS_EVERY = 3  # one document in three of that source becomes part of the corpus, until it is large enough
DUPLICATE = 8  # words: shorter lines ("Thank you very much.") occur in unrelated documents and are kept

_END = re.compile(r"""[.!?…]["'”’)\]]*\s+(?=["'“‘(\[]?[A-Z0-9])""")
_ABBREVIATION = re.compile(
    r"(?:^|[\s(\"'])(?:[A-Za-z]|Mr|Mrs|Ms|Dr|St|Prof|Rev|Gen|Col|Capt|Lt|Sgt|Jr|Sr|vs|etc|cf|i\.e|e\.g|No|Fig|Inc|Co)\.$"
)


class BadText(Exception):
    """A folder of text that does not match its description."""


@contextmanager
def in_one_line(*kinds: type[Exception]) -> Iterator[None]:
    """Print an error of these kinds as one line, and exit with code 2."""
    try:
        yield
    except kinds as error:
        print(f"pretrain: {error}", file=sys.stderr)
        sys.exit(2)


@dataclass(frozen=True, slots=True)
class Document:
    """A document.

    source: name of its file. sentences: its sentences. linked: whether each sentence follows the one before. part:
    "train", "held out" or "corpus".
    """

    source: str
    sentences: list[str]
    linked: bool
    part: str


def sentences_of(paragraph: str) -> list[str]:
    """Return the sentences of a paragraph, cut after full stops, question and exclamation marks."""
    sentences, start = [], 0
    for end in _END.finditer(paragraph):
        if _ABBREVIATION.search(paragraph[start : end.start() + 1]):
            continue
        sentences.append(paragraph[start : end.end()].strip())
        start = end.end()
    sentences.append(paragraph[start:].strip())
    return [sentence for sentence in sentences if sentence]


def read_documents(folder: Path, listed: Path = LISTED) -> Iterator[Document]:
    """Yield the documents of all sources in use, without repeated lines.

    Raises: BadText if a file is missing or has another hash.
    """
    lines_read: set[bytes] = set()
    for name, facts in described(listed).items():
        if not facts["used"]:
            continue
        lines = _lines(folder, name, str(facts["sha256"]))
        linked, corpus_size = facts["text"] != "lines", 0
        length = 1 if facts["text"] == "documents" else PARAGRAPHS
        for number, start in enumerate(range(0, len(lines), length)):
            unique = [line for line in lines[start : start + length] if not _repeated(line, lines_read)]
            sentences = [sentence for line in unique for sentence in sentences_of(line)]
            part = "held out" if number % HELD_OUT == HELD_OUT - 1 else "train"
            if name == CORPUS and number % CORPUS_EVERY == 0 and part == "train" and corpus_size < CORPUS_SENTENCES:
                part, corpus_size = "corpus", corpus_size + len(sentences)
            if sentences:
                yield Document(name, sentences, linked, part)


def described(listed: Path = LISTED) -> dict[str, dict[str, object]]:
    """Return the list of sources: the facts of each file by its name."""
    sources: dict[str, dict[str, object]] = yaml.safe_load(listed.read_text("utf-8"))
    return sources


def plain(text: str) -> str:
    """Return the letters and digits of a text, in lower case."""
    return re.sub(r"[\W_]+", "", text.lower())


def _repeated(line: str, lines_read: set[bytes]) -> bool:
    if len(line.split()) < DUPLICATE:
        return False
    key = hashlib.blake2b(plain(line).encode(), digest_size=8).digest()
    if key in lines_read:
        return True
    lines_read.add(key)
    return False


def _lines(folder: Path, name: str, sha256: str) -> list[str]:
    for suffix, unpack in ((".txt", bytes), (".txt.gz", gzip.decompress), (".txt.xz", lzma.decompress)):
        path = folder / f"{name}{suffix}"
        if path.is_file():
            content = unpack(path.read_bytes())
            if (actual := hashlib.sha256(content).hexdigest()) != sha256:
                raise BadText(
                    f"{path} has sha256 {actual[:12]}..., but sources.yaml says {sha256[:12]}... Is it another version?"
                )
            return content.decode("utf-8").splitlines()
    raise BadText(f"{folder} has no {name}.txt, {name}.txt.gz or {name}.txt.xz. Every listed file is needed.")
