"""Tasks on real English with human labels that come with cseb: SNLI, CLINC150 and Banking77.

The data are read from the package; `data_dir` is not used.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cseb import open_data
from cseb.tasks.pairs import Pairs, RatedPairs
from cseb.tasks.retrieval import Pool, Ranked
from cseb.tasks.transfer.labelled import Examples, LabelledTexts
from cseb.tasks.transfer.schemes import LOGREG_RECIPE


@dataclass(frozen=True, slots=True)
class SNLI:
    """Captions of photographs and sentences that follow from them (grade 2), may be true (1) or contradict them (0).

    The majority of five annotators labelled each pair. In this order the labels are used as grades of similarity, which
    was not rated itself: a contradiction often repeats the words of the caption. `snli` is every third caption of the
    test split with all of its sentences; `snli-dev` every sixth of the dev split, without pairs with a sentence of the
    test split. The score is that of `simcse-sts@1`: Spearman's correlation of cosine and grade.

    Source: Bowman et al. 2015 (the data); the grading is ours.
    """

    name: str
    version: int = 1
    protocol: str = "snli-grades@1"

    def load(self, data_dir: Path | None) -> RatedPairs:
        grades, premises, hypotheses = zip(*open_data.table(self.name, 3), strict=True)
        return RatedPairs((Pairs(self.name, premises, hypotheses, [float(grade) for grade in grades]),))


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


@dataclass(frozen=True, slots=True)
class Banking77:
    """Customers' questions to a bank and the intent of each.

    A logistic regression on frozen embeddings, trained on ten questions of each intent (the smallest setting of the
    paper) until it converges, its C chosen as in logreg@2 on one fifth of them, and scored on the test questions: 40
    of each intent. `banking77` has 57 intents, `banking77-dev` the other 20. The score is accuracy. This is not the
    protocol of `mteb:Banking77Classification`, which has all 77 intents and averages ten draws of training questions.

    Source: Casanueva et al. 2020; the choice of intents and questions is ours, see `benchmarks/open_data.py`.
    """

    name: str
    version: int = 1
    protocol: str = "intents(shots=10)@2"

    def load(self, data_dir: Path | None) -> LabelledTexts:
        rows = open_data.table(self.name, 3)
        intents = {intent: number for number, intent in enumerate(sorted({intent for _, intent, _ in rows}))}
        parts = []
        for wanted in ("train", "test"):
            chosen = [(text, intents[intent]) for part, intent, text in rows if part == wanted]
            parts.append(Examples(tuple((text,) for text, _ in chosen), tuple(label for _, label in chosen)))
        return LabelledTexts(tuple(parts), len(intents), LOGREG_RECIPE)


SNLI_TEST, SNLI_DEV = SNLI("snli"), SNLI("snli-dev")
CLINC150_TEST, CLINC150_DEV = CLINC150("clinc150"), CLINC150("clinc150-dev")
BANKING77_TEST, BANKING77_DEV = Banking77("banking77"), Banking77("banking77-dev")
