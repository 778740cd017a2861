"""Questions to the user: which of two pairs of sentences belongs together more?

An encoder answers such a question by its cosines, so that every run is judged by the share of the user's answers that
it agrees with. Asked are mostly questions that the contestants answer differently, for the others tell no two of them
apart; each answer is weighted by one over the chance it had to be asked (Hansen & Hurwitz 1943), which makes up for
that choice. A simulation behind it is in tests/advice/test_questions.py: chosen so, a quarter of the answers does.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from cseb.advice.hold_out import write
from cseb.advice.judges import CHOOSE, FEWEST_HELD, too_few
from cseb.analysis.paired import Sample
from cseb.data.subset import order
from cseb.data.tables import read_table
from cseb.errors import BadData
from cseb.seeds import stream_seed
from cseb.tasks.words import tf_idf

Floats = npt.NDArray[np.float64]
POOL, ASKED = "pool.tsv", "answers.tsv"
MOST_PAIRS = 500  # of held-out sentences whose cosines every run keeps
COMPARED = 4000  # questions that could be asked
UNIFORM = 0.2  # of the chance is for any question: what later seeds answer differently must be able to come up
AGAIN = 8  # every so many-th question is an earlier one with its pairs exchanged, for how consistent answers are
Part = Literal["choose", "decide"]  # of the answers: in the race, or afterwards
PARTS: tuple[Part, ...] = ("choose", "decide")
FIRST, SECOND, SKIPPED = "1", "2", "s"
COLUMNS = ("first", "second", "weight", "part", "repeats", "answer")


@dataclass(frozen=True, slots=True)
class Question:
    """Two pairs by their places in the pool. weight: one over its chance, up to a factor.

    part: whether its answer chooses in the race or decides afterwards. repeats: the number of the question that this
    one asks again the other way round, -1 for a new one, whose answers alone count.
    """

    first: int
    second: int
    weight: float
    part: Part
    repeats: int = -1

    def fits(self, number: int, pairs: int) -> bool:
        """Whether the question of this number can be one of a pool of so many pairs: a file may say anything."""
        inside = 0 <= self.first < pairs and 0 <= self.second < pairs
        return inside and 0 <= self.weight < math.inf and -1 <= self.repeats < number


def pool(sentences: Sequence[str], folder: Path) -> str:
    """Write pairs of held-out sentences as a task, whose items are the cosines of every run; gives it as typed.

    Half of the sentences are paired with the nearest one by words, the others as they come, no sentence twice. The
    column of scores is the place of the pair: a file of this kind needs one, and it judges nobody. Raises: BadData.
    """
    if len(sentences) < FEWEST_HELD:
        raise too_few(sentences)
    chosen = [sentences[place] for place in order(len(sentences), 2)[: 2 * MOST_PAIRS].tolist()]
    words = tf_idf(chosen)
    words /= np.maximum(np.linalg.norm(words, axis=1, keepdims=True), 1e-12)
    free = dict.fromkeys(range(len(chosen)))
    rows: list[str] = []
    for number in range(len(chosen)):
        if number not in free or len(free) < 2:
            continue
        del free[number]
        others = np.fromiter(free, dtype=np.int64)
        near = int(others[np.argmax(words[others] @ words[number])]) if len(rows) % 2 else int(others[0])
        del free[near]
        rows.append(f"{chosen[number]}\t{chosen[near]}\t{len(rows)}\n")
    path = folder / POOL
    write(path, "".join(["sentence1\tsentence2\tscore\n", *rows]))
    return str(path)


def draw(cosines: Mapping[str, Floats], count: int) -> list[Question]:
    """Questions about a pool of N pairs, `count` of them. cosines: of each contestant, (N,).

    A third chooses, the rest decides; every eighth is asked again. Raises: BadData if all contestants agree on all.
    """
    rng = np.random.Generator(np.random.PCG64(stream_seed(0, "judge/questions")))
    pairs = len(next(iter(cosines.values())))
    sides = rng.integers(0, pairs, (2, COMPARED))
    first, second = sides[:, sides[0] != sides[1]]
    share = np.mean([one[first] > one[second] for one in cosines.values()], axis=0)
    apart = share * (1 - share)  # how differently the contestants answer
    if not apart.any():
        raise BadData("all contestants answer all questions alike, so that no answer would tell them apart")
    chance = (1 - UNIFORM) * apart / apart.sum() + UNIFORM / len(apart)
    drawn = rng.choice(len(chance), size=count, p=chance)
    found: list[Question] = []
    for number, place in enumerate(drawn.tolist()):
        if number % AGAIN == AGAIN - 1:
            earlier = found[int(rng.integers(0, number - 1))]
            if earlier.repeats < 0:
                old = found.index(earlier)
                found.append(Question(earlier.second, earlier.first, 0.0, earlier.part, old))
                continue
        part: Part = "choose" if rng.random() < CHOOSE else "decide"
        found.append(Question(int(first[place]), int(second[place]), float(1 / (chance[place] * len(chance))), part))
    return found


@dataclass(slots=True)
class Answers:
    """Questions and what was answered, in a file that is written after every answer. answers: "1", "2", "s" or ""."""

    file: Path
    questions: Sequence[Question]
    answers: list[str]

    @classmethod
    def read(cls, folder: Path, pairs: int) -> Answers | None:
        """Those of an earlier call, None if nothing was asked yet. pairs: of the pool. Raises: BadData."""
        path = folder / ASKED
        if not path.is_file():
            return None
        table = read_table(path)
        try:
            columns = {name: list(map(str, table.column(name))) for name in COLUMNS}
            questions = [
                Question(int(a), int(b), float(weight), PARTS[PARTS.index(part)], int(again))
                for a, b, weight, part, again in zip(*(columns[name] for name in COLUMNS[:-1]), strict=True)
            ]
            if not all(one.fits(number, pairs) for number, one in enumerate(questions)):
                raise ValueError("a place that is not there")
        except ValueError:
            raise BadData(f"{path} is damaged; remove it to be asked anew") from None
        return cls(path, questions, [one if one in (FIRST, SECOND, SKIPPED) else "" for one in columns["answer"]])

    @classmethod
    def new(cls, folder: Path, questions: Sequence[Question]) -> Answers:
        """Nothing answered yet."""
        return cls(folder / ASKED, questions, [""] * len(questions))

    @property
    def next(self) -> int | None:
        """The number of the first question without an answer, None if there is none."""
        return next((number for number, answer in enumerate(self.answers) if not answer), None)

    def answer(self, number: int, given: str) -> None:
        """Note an answer, or take it back with "", and write the file. Raises: BadResults."""
        self.answers[number] = given
        rows = [
            (one.first, one.second, f"{one.weight:.6g}", one.part, one.repeats, said or "-")
            for one, said in zip(self.questions, self.answers, strict=True)
        ]
        write(self.file, "".join("\t".join(map(str, row)) + "\n" for row in (COLUMNS, *rows)))

    def counted(self, part: Part) -> list[tuple[Question, str]]:
        """Questions of this part that were answered, repeats left out."""
        return [
            (one, said)
            for one, said in zip(self.questions, self.answers, strict=True)
            if one.part == part and one.repeats < 0 and said in (FIRST, SECOND)
        ]

    def consistent(self) -> tuple[int, int]:
        """How many repeated questions were answered as before, and how many were answered twice."""
        twice = [
            (self.answers[one.repeats], said)
            for one, said in zip(self.questions, self.answers, strict=True)
            if one.repeats >= 0 and said in (FIRST, SECOND) and self.answers[one.repeats] in (FIRST, SECOND)
        ]
        return sum(before != after for before, after in twice), len(twice)  # the pairs were exchanged

    def sample(self, method: str, cosines: Mapping[int, Floats], part: Part) -> Sample | None:
        """How often runs agree with the answers, in points. cosines: of each seed, (N,) over the pool.

        Each answer is a cluster of items. None without answers.
        """
        held = self.counted(part)
        if not held:
            return None
        weights = np.array([one.weight for one, _ in held])
        weights /= weights.sum()
        first, second = np.array([(one.first, one.second) for one, _ in held]).T
        said = np.array([1.0 if answer == FIRST else 0.0 for _, answer in held])
        points, contributions = {}, {}
        for seed, each in cosines.items():
            agrees = 1 - np.abs((1 + np.sign(each[first] - each[second])) / 2 - said)
            points[seed] = 100 * float(weights @ agrees)
            contributions[seed] = weights * (100 * agrees - points[seed])
        return Sample(method, points, contributions)
