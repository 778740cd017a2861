"""Transfer tasks of the synthetic benchmark (microworld): the papers' protocol on generated sentences."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from cseb import microworld
from cseb.tasks.influence import connected
from cseb.tasks.transfer.files import Examples, Parts, ordered
from cseb.tasks.transfer.labelled import LabelledTexts
from cseb.tasks.transfer.recipes import TEST_RECIPE

RECIPE = replace(TEST_RECIPE, folds=5, inner=5)  # a quarter of the time, on data as small as these
ALIKE = 2.5  # of 5: pairs of this score and above are paraphrases
PAIRS = ("mw-captions", "mw-headlines", "mw-forum")
DEV, TEST = 100, 100  # of the sentences with a topic


@dataclass(frozen=True, slots=True)
class Miniature:
    """A class for each sentence or pair, known because the sentences are generated.

    Source: our own; see `cseb.microworld`. Trained as in senteval-transfer@1, with five folds instead of ten. Good for
    trying methods out and for tests, no evidence about real text.
    """

    name: str
    parts: Callable[[], Parts]
    classes: int
    version: int = microworld.VERSION  # other sentences, other scores
    protocol: str = "microworld-transfer@1"

    def load(self, data_dir: Path | None) -> LabelledTexts:
        """Generate the sentences, the same everywhere; `data_dir` is not used."""
        return LabelledTexts(self.parts(), self.classes, RECIPE)


def topics() -> Parts:
    """600 sentences of six topics, for nested cross-validation, as in MR."""
    return (_topics(slice(None)),)


def topics_split() -> Parts:
    """The same sentences in three parts, as in SST2."""
    return _topics(slice(-DEV - TEST)), _topics(slice(-DEV - TEST, -TEST)), _topics(slice(-TEST, None))


def paraphrases() -> Parts:
    """Pairs of sentences that say much the same or do not, three kinds of text, as in MRPC."""
    rows = [
        ((a, b), int(score >= ALIKE)) for name in PAIRS for a, b, score in zip(*microworld.pairs(name), strict=True)
    ]
    last = connected([texts for texts, _ in rows]) % 5 == 4  # whole chains: no sentence is in both parts
    train, test = ([row for row, out in zip(rows, last, strict=True) if out == which] for which in (False, True))
    return ordered(train), ordered(test)


def _topics(rows: slice) -> Examples:
    found = microworld.labelled()
    return ordered([((text,), label) for text, label in zip(found.sentences[rows], found.labels[rows], strict=True)])


TOPICS = Miniature("mw-topics", topics, 6)
TOPICS_SPLIT = Miniature("mw-topics-split", topics_split, 6)
PARAPHRASE = Miniature("mw-paraphrase", paraphrases, 2)
