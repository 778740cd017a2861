"""Questions to the user, and what the answers say of encoders: on answers whose truth is known."""

from pathlib import Path

import numpy as np
import pytest

from cseb.advice.questions import AGAIN, ASKED, COMPARED, Answers, draw, pool
from cseb.errors import BadData
from cseb.statistics.items import variance
from cseb.tasks.evaluate import load_task
from cseb.tasks.names import parse_tasks
from tests.advice.test_judges import SENTENCES

PAIRS = 200


def encoders(rng: np.random.Generator, *noise: float) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """What people think of PAIRS pairs, and the cosines of encoders that are so far from it, half of that together."""
    truth, shared = rng.normal(size=(2, PAIRS))
    return truth, {f"e{k}": truth + shared * one + rng.normal(0, one, PAIRS) for k, one in enumerate(noise)}


def answered(folder: Path, cosines: dict[str, np.ndarray], truth: np.ndarray, count: int) -> Answers:
    found = Answers(folder / ASKED, draw(cosines, count), [])
    found.answers = ["1" if truth[one.first] > truth[one.second] else "2" for one in found.questions]
    return found


def test_a_pool_has_each_sentence_once_and_is_a_task(tmp_path: Path) -> None:
    word = pool(SENTENCES, tmp_path)
    sentences = load_task(parse_tasks(word)[0], None).sentences()
    assert sorted(sentences) == sorted(SENTENCES)
    with pytest.raises(BadData, match="too few"):
        pool(SENTENCES[:10], tmp_path)


def test_questions_are_mostly_those_that_contestants_answer_differently() -> None:
    _, cosines = encoders(np.random.default_rng(0), 0.3, 0.3)
    asked = [one for one in draw(cosines, 160) if one.repeats < 0]
    apart = [len({each[one.first] > each[one.second] for each in cosines.values()}) == 2 for one in asked]
    assert np.mean(apart) > 0.7
    again = [one for one in draw(cosines, 160) if one.repeats >= 0]
    assert len(again) == pytest.approx(160 / AGAIN, abs=3)
    assert {one.part for one in asked} == {"choose", "decide"}


def test_contestants_that_agree_on_everything_cannot_be_told_apart() -> None:
    same = np.arange(50.0)
    with pytest.raises(BadData, match="alike"):
        draw({"a": same, "b": 2 * same}, 20)


def test_an_answer_is_kept_taken_back_and_found_again(tmp_path: Path) -> None:
    _, cosines = encoders(np.random.default_rng(0), 0.5, 0.5)
    new = Answers.new(tmp_path, draw(cosines, 20))
    assert Answers.read(tmp_path, PAIRS) is None
    new.answer(0, "1")
    new.answer(1, "s")
    new.answer(2, "2")
    new.answer(2, "")
    found = Answers.read(tmp_path, PAIRS)
    assert found is not None
    assert found.answers == new.answers
    assert found.next == 2
    assert [(one.first, one.second, one.part) for one in found.questions] == [
        (one.first, one.second, one.part) for one in new.questions
    ]


@pytest.mark.parametrize(
    "row",
    [
        "x 1 1 choose -1",
        "9 1 1 choose -1",
        "-1 1 1 choose -1",
        "0 9 1 choose -1",
        "0 1 nan choose -1",
        "0 1 1 decide 0",
    ],
)
def test_a_question_that_cannot_have_been_asked_is_refused(tmp_path: Path, row: str) -> None:
    lines = ["first second weight part repeats answer", row + " 1"]
    (tmp_path / ASKED).write_text("".join(line.replace(" ", "\t") + "\n" for line in lines))
    with pytest.raises(BadData, match="is damaged"):
        Answers.read(tmp_path, 9)
    (tmp_path / ASKED).write_text("".join(line.replace(" ", "\t") + "\n" for line in [lines[0], "8 0 1 choose -1 1"]))
    assert Answers.read(tmp_path, 9) is not None


def test_who_changes_his_mind_is_found_out(tmp_path: Path) -> None:
    truth, cosines = encoders(np.random.default_rng(1), 0.5, 0.5)
    found = answered(tmp_path, cosines, truth, 80)
    alike, twice = found.consistent()
    assert alike == twice == sum(one.repeats >= 0 for one in found.questions)
    place = next(number for number, one in enumerate(found.questions) if one.repeats >= 0)
    found.answers[place] = "1" if found.answers[place] == "2" else "2"
    assert found.consistent() == (twice - 1, twice)


def test_the_choice_of_questions_does_not_move_what_is_estimated(tmp_path: Path) -> None:
    truth, cosines = encoders(np.random.default_rng(2), 0.4, 0.9)
    sides = np.random.default_rng(3).integers(0, PAIRS, (2, 50 * COMPARED))
    first, second = sides[:, sides[0] != sides[1]]
    said = truth[first] > truth[second]
    agree = {name: 100 * np.mean((each[first] > each[second]) == said) for name, each in cosines.items()}
    found = answered(tmp_path, cosines, truth, 4000)
    samples = [found.sample(name, {0: each}, "decide") for name, each in cosines.items()]
    assert samples[0] is not None
    assert samples[1] is not None
    error = variance(samples[1].contributions[0] - samples[0].contributions[0]) ** 0.5
    gap = samples[1].points[0] - samples[0].points[0]
    assert gap == pytest.approx(agree["e1"] - agree["e0"], abs=4 * error)
    assert error < 1.5
    for name, sample in zip(cosines, samples, strict=True):
        assert sample is not None
        assert sample.points[0] == pytest.approx(agree[name], abs=4 * variance(sample.contributions[0]) ** 0.5)


@pytest.mark.slow
def test_chosen_questions_need_a_quarter_of_the_answers_and_two_pairs_no_more_than_one(tmp_path: Path) -> None:
    """The signal-to-noise ratio of a difference of two encoders, over studies of 60 answers."""
    rng, count = np.random.default_rng(0), 60
    found: dict[str, list[float]] = {"chosen": [], "any": [], "one pair": []}
    for _ in range(600):
        truth, cosines = encoders(rng, 0.8, 0.5)
        a, b = cosines.values()
        heard = truth + rng.normal(0, 0.5, PAIRS)  # people are not sure either
        first, second = rng.integers(0, PAIRS, (2, COMPARED))
        gain = ((b[first] > b[second]) == (heard[first] > heard[second])).astype(float)
        gain -= (a[first] > a[second]) == (heard[first] > heard[second])
        apart = np.flatnonzero((a[first] > a[second]) != (b[first] > b[second]))
        found["any"].append(float(gain[rng.integers(0, COMPARED, count)].mean()))
        found["chosen"].append(float(gain[rng.choice(apart, count)].mean()) * len(apart) / COMPARED)
        yes = [each > np.median(each) for each in (a, b)]  # one pair: do they mean the same?
        differ = np.flatnonzero(yes[0] != yes[1])
        asked = rng.choice(differ, count)
        right = np.where(yes[1][asked] == (heard[asked] > 0), 1, -1)
        found["one pair"].append(float(right.mean()) * len(differ) / PAIRS)
    ratio = {name: float(np.mean(values) / np.std(values)) for name, values in found.items()}
    assert ratio["chosen"] > 1.6 * ratio["any"]  # four times as many answers would double it
    assert ratio["chosen"] > 0.9 * ratio["one pair"]
