"""Transfer tasks of the embedded world: the protocol of the papers on generated sentences, without any download."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cseb import microworld
from cseb.tasks.transfer.files import Examples, Parts, ordered
from cseb.tasks.transfer.labelled import LabelledTexts
from cseb.tasks.transfer.recipes import TEST_RECIPE

ALIKE = 3.0  # of 5: pairs of this score and above are paraphrases
DEV, TEST = 100, 100  # of the sentences with a topic


@dataclass(frozen=True, slots=True)
class Miniature:
    """A class for each sentence or pair, known because the sentences are generated.

    Source: our own; see `cseb.microworld`. Good for trying methods out and for tests, no evidence about real text.
    """

    name: str
    parts: Callable[[], Parts]
    classes: int
    version: int = microworld.VERSION  # other sentences, other scores
    protocol: str = "microworld-transfer@1"

    def load(self, data_dir: Path | None) -> LabelledTexts:
        """Generate the sentences, the same everywhere; `data_dir` has no part in it."""
        return LabelledTexts(self.parts(), self.classes, TEST_RECIPE)


def topics() -> Parts:
    """600 sentences of six topics, for nested cross-validation, as in MR."""
    return (_topics(slice(None)),)


def topics_split() -> Parts:
    """The same sentences in three parts, as in SST2."""
    return _topics(slice(-DEV - TEST)), _topics(slice(-DEV - TEST, -TEST)), _topics(slice(-TEST, None))


def paraphrases() -> Parts:
    """Pairs of sentences that say much the same or do not, of several kinds of text and of captions, as in MRPC."""
    return _alike("mw-mixed"), _alike("mw-captions")


def _topics(rows: slice) -> Examples:
    found = microworld.labelled()
    return ordered([((text,), label) for text, label in zip(found.sentences[rows], found.labels[rows], strict=True)])


def _alike(name: str) -> Examples:
    return ordered([((a, b), int(score >= ALIKE)) for a, b, score in zip(*microworld.pairs(name), strict=True)])


TOPICS = Miniature("mw-topics", topics, 6)
TOPICS_SPLIT = Miniature("mw-topics-split", topics_split, 6)
PARAPHRASE = Miniature("mw-paraphrase", paraphrases, 2)
