"""Retrieval and clustering tasks of the built-in synthetic benchmark (microworld), without any download."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cseb import microworld
from cseb.tasks.geometry import MEASURES, Geometry
from cseb.tasks.judged import judged
from cseb.tasks.labelled import Clustering, clustering, labelled
from cseb.tasks.microworld_sts import DEV
from cseb.tasks.retrieval import Ranked


@dataclass(frozen=True, slots=True)
class MicroworldFAQ:
    """Questions and the documents that answer them, each beside two that tell of a similar event in the same words.

    Source: our own; see `cseb.microworld`. No evidence about real text.
    """

    name: str
    version: int = microworld.VERSION
    protocol: str = "microworld-retrieval(folds=5)@1"

    def load(self, data_dir: Path | None) -> Ranked:
        """Generate the questions and documents, the same everywhere; `data_dir` is not used."""
        found = microworld.queries(self.name)
        asked = [(query, number) for number, query in enumerate(found.queries)]
        return judged(asked, found.documents, [[own] for own in found.relevant], name=self.name)


@dataclass(frozen=True, slots=True)
class MicroworldClusters:
    """Sentences of six topics, to be found by K-means.

    Source: our own; see `cseb.microworld`. No evidence about real text.
    """

    name: str
    version: int = microworld.VERSION
    protocol: str = "microworld-k-means@1"

    def load(self, data_dir: Path | None) -> Clustering:
        """Generate the sentences, the same everywhere; `data_dir` is not used."""
        found = microworld.labelled()
        names = np.array(found.names)[found.labels].tolist()
        return clustering(labelled(found.sentences, names, self.name), 0, self.name)


FAQ = MicroworldFAQ("mw-faq")
CLUSTERS = MicroworldClusters("mw-clusters")
ALIGNMENT, UNIFORMITY, ANISOTROPY, EFFECTIVE_RANK = (
    Geometry(f"mw-{measure}", measure, DEV, "microworld-dev") for measure in MEASURES
)
