"""Real English with human labels that comes with cseb: what each task asks, on encoders whose answers are known."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from cseb import open_data
from cseb.tasks.evaluate import load_task, score_all
from cseb.tasks.names import parse_tasks
from cseb.tasks.task import Vectors


def score(name: str, embed: Callable[[Sequence[str]], Vectors]) -> float | None:
    [task] = parse_tasks(name)
    [(outcome, _)] = score_all([(task, load_task(task, None))], embed)
    return outcome.value


def by_intent(name: str) -> Callable[[Sequence[str]], Vectors]:
    """An encoder that knows the intent of every text of a task, and nothing else."""
    intents = {text: intent for _, intent, text in open_data.table(name, 3)}
    numbers = {intent: number for number, intent in enumerate(sorted(set(intents.values())))}
    return lambda texts: np.eye(len(numbers), dtype=np.float32)[[numbers[intents[text]] for text in texts]]


def test_a_caption_is_nearest_to_what_follows_from_it() -> None:
    loaded = load_task("snli-dev", None)
    [pairs] = loaded.subsets
    assert sorted(set(pairs.gold)) == [0.0, 1.0, 2.0]
    counts = np.bincount(np.array(pairs.gold, dtype=int))
    assert counts.min() / counts.max() > 0.95
    row = pairs.left.index("Two women are embracing while holding to go packages .")
    text = dict(zip(pairs.right[row : row + 3], pairs.gold[row : row + 3], strict=True))
    assert text["Two woman are holding packages ."] == 2
    assert text["The men are fighting outside a deli ."] == 0


def test_an_encoder_that_answers_as_the_annotators_has_every_point_that_ties_leave() -> None:
    """Cosines equal to grade / 2: a premise of two dimensions, a hypothesis turned from it by the grade's angle."""
    rows = open_data.table("snli-dev", 3)
    once = {row[2] for row in rows}
    angle = {hypothesis: np.arccos(float(grade) / 2) for grade, _, hypothesis in rows}
    assert len(once) > 0.97 * len(rows)  # a hypothesis with two grades can be right only once

    def embed(texts: Sequence[str]) -> Vectors:
        turned = np.array([angle.get(text, 0.0) for text in texts])
        return np.stack([np.cos(turned), np.sin(turned)], axis=1).astype(np.float32)

    assert (score("snli-dev", embed) or 0) > 98


@pytest.mark.parametrize("name", ["banking77-dev", "clinc150-dev"])
def test_an_encoder_that_knows_the_intents_has_all_points(name: str) -> None:
    assert score(name, by_intent(name)) == 100.0


def test_ten_training_questions_of_each_intent_and_the_others_are_scored() -> None:
    loaded = load_task("banking77-dev", None)
    train, test = loaded.parts
    assert np.bincount(train.labels).tolist() == [10] * 20
    assert np.bincount(test.labels).tolist() == [40] * 20
    assert loaded.scored is test
    assert loaded.classes == 20


def test_every_query_ranks_all_documents_and_twenty_are_relevant() -> None:
    loaded = load_task("clinc150-dev", None)
    [pool] = loaded.pools
    assert (len(pool.queries), len(pool.documents)) == (300, 600)
    assert {len(each) for each in loaded.relevant} == {20}
    assert np.bincount(loaded.clusters()).tolist() == [10] * 30
    intent = {text: intent for _, intent, text in open_data.table("clinc150-dev", 3)}
    for query, relevant in zip(loaded.queries, loaded.relevant, strict=True):
        assert {intent[loaded.documents[each]] for each in relevant} == {intent[query]}


def test_their_protocols_are_no_paper_s_and_share_no_average() -> None:
    protocols = [task.protocol for task in parse_tasks("open")]
    assert len(set(protocols)) == 3
    others = {task.protocol for group in ("sts", "transfer-logreg") for task in parse_tasks(group)}
    assert not set(protocols) & others
