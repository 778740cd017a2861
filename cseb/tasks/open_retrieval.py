"""Retrieval of real English that comes with cseb."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cseb import open_data
from cseb.tasks.retrieval import Pool, Ranked


@dataclass(frozen=True, slots=True)
class CLINC150:
    """Utterances to an assistant: retrieval of other utterances of the same intent.

    Queries are ten test utterances of each intent, documents twenty training utterances, all of which are ranked for
    every query; relevant are those of the query's own intent, which the crowd worker who wrote them was given. Queries
    of one intent are dependent. `clinc150` has 120 intents, `clinc150-dev` the other 30. The score is 100 x MAP; MRR
    and TOPk are in `detail`.

    Source: Larson et al. 2019 (the data); ranking by intent is ours.
    """

    name: str
    version: int = 1
    protocol: str = "same-intent-retrieval@1"

    def load(self, data_dir: Path | None) -> Ranked:
        """Return the data from the file that comes with cseb; `data_dir` is not used. Raises: BadData."""
        rows = open_data.table(self.name, 3)
        queries, documents = ([row for row in rows if row[0] == part] for part in ("query", "document"))
        same: dict[str, list[int]] = {}
        for number, (_, intent, _) in enumerate(documents):
            same.setdefault(intent, []).append(number)
        intents = {intent: number for number, intent in enumerate(same)}
        return Ranked(
            [text for _, _, text in queries],
            [text for _, _, text in documents],
            [same[intent] for _, intent, _ in queries],
            [Pool(np.arange(len(queries)), np.arange(len(documents)))],
            np.array([intents[intent] for _, intent, _ in queries]),
        )


CLINC150_TEST = CLINC150("clinc150")
CLINC150_DEV = CLINC150("clinc150-dev")
