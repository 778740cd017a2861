"""Retrieval and clustering of the embedded world: its texts, measured as real ones are."""

import numpy as np

from cseb import microworld
from cseb.registry import TASK_GROUPS
from cseb.tasks.evaluate import load_task, score_all
from cseb.tasks.labelled import Clustering
from cseb.tasks.names import parse_tasks
from cseb.tasks.retrieval import Ranked
from cseb.tasks.words import tf_idf


def test_each_question_has_one_document_among_all() -> None:
    data, world = load_task("mw-faq", None), microworld.queries()
    assert isinstance(data, Ranked)
    assert (len(data.queries), len(data.documents)) == (150, 450)
    assert [[data.documents[own] for own in each] for each in data.relevant] == [
        [world.documents[own]] for own in world.relevant
    ]
    assert np.bincount(data.folds if data.folds is not None else []).tolist() == [30] * 5


def test_six_topics_are_to_be_found() -> None:
    data = load_task("mw-clusters", None)
    assert isinstance(data, Clustering)
    assert (data.clusters_wanted, np.bincount(data.data.labels).tolist()) == (6, [100] * 6)


def test_they_belong_to_the_world_and_stand_in_none_of_its_averages() -> None:
    tasks = parse_tasks("mw-faq,mw-clusters,mw-geometry")
    assert all("microworld" in task.protocol for task in tasks)
    assert not {task.name for task in tasks} & set(TASK_GROUPS["microworld"])
    assert {task.version for task in tasks[:2]} == {microworld.VERSION}


def test_distractors_in_the_same_words_mislead_an_encoder_that_counts_words() -> None:
    [task] = parse_tasks("mw-faq")
    [(outcome, items)] = score_all([(task, task.load(None))], tf_idf)
    assert 0 < (outcome.value or 0) < 50
    assert items.shape == (150, 2)
