"""Rated pairs of the built-in synthetic benchmark (microworld), without any download."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cseb import microworld
from cseb.tasks.pairs import Pairs, RatedPairs


@dataclass(frozen=True, slots=True)
class MicroworldSTS:
    """Generated pairs whose score follows from what the sentences say.

    Source: our own; see `cseb.microworld`. For trying methods out and for tests; no evidence about real text.
    """

    name: str
    version: int = microworld.VERSION  # other pairs, other scores
    protocol: str = "microworld-sts@1"

    def load(self, data_dir: Path | None) -> RatedPairs:
        """Generate the pairs, the same everywhere; `data_dir` is not used."""
        left, right, gold = microworld.pairs(self.name)
        return RatedPairs((Pairs(self.name, left, right, gold),))


CAPTIONS = MicroworldSTS("mw-captions")
HEADLINES = MicroworldSTS("mw-headlines")
QUESTIONS = MicroworldSTS("mw-questions")
DEFINITIONS = MicroworldSTS("mw-definitions")
FORUM = MicroworldSTS("mw-forum")
MIXED = MicroworldSTS("mw-mixed")
RELATIONS = MicroworldSTS("mw-relations")
DEV = MicroworldSTS("mw-dev")
