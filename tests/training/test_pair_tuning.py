"""SetFit's fine-tuning beside that of sentence-transformers, and the task that scores it."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.losses import CosineSimilarityLoss
from torch.optim.lr_scheduler import LambdaLR

import cseb
from cseb.data.lines import ITERATIONS, ClassPairs, class_pairs
from cseb.encoder.encoder import Encoder
from cseb.errors import BadSpec, CsebError
from cseb.tasks.evaluate import load_task, score_all
from cseb.tasks.names import parse_tasks
from cseb.tasks.transfer.few_labels import FewLabels, FineTuned
from cseb.training.pair_tuning import tuned, tuner_of
from tests.command_line import refused
from tests.conftest import SENTENCES
from tests.training.small_runs import encoder_in


@pytest.fixture
def encoder(tiny: Callable[[str], Path]) -> Encoder:
    return encoder_in(tiny("bert"), "mean+recipe(dropout=0.0)")


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(seed))


def pairs() -> ClassPairs:
    labels = np.array([0, 0, 0, 1, 1, 1, 2, 2])
    return class_pairs(SENTENCES[:8], labels, rng(3), most=64)


def test_the_vectors_are_those_of_sentence_transformers(encoder: Encoder, tiny: Callable[[str], Path]) -> None:
    """The same pairs, CosineSimilarityLoss, AdamW and schedule, without dropout: equal weights up to rounding."""
    data, before = pairs(), encoder.embed(SENTENCES[:8])
    ours = tuned(encoder, data, 1e-3, seed=0)(SENTENCES[:8])
    assert np.array_equal(encoder.embed(SENTENCES[:8]), before), "the encoder itself stays as it is"

    model = SentenceTransformer(str(tiny("bert")), device="cpu")
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    loss = CosineSimilarityLoss(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.0)
    schedule = LambdaLR(optimizer, lambda step: step / 1 if step < 1 else (4 - step) / 3)
    for rows in np.split(np.arange(64), 4):
        sides = [model.tokenize([data.texts[row] for row in side[rows]]) for side in (data.left, data.right)]
        loss(sides, torch.from_numpy(data.same[rows])).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
    theirs = model.encode(list(SENTENCES[:8]))
    assert np.abs(ours - before).max() > 0.01
    np.testing.assert_allclose(ours, theirs, atol=1e-4)


def test_half_of_the_pairs_are_of_one_class_and_none_is_repeated_before_all_are_drawn() -> None:
    labels = np.array([0, 0, 0, 1, 1, 2])
    drawn = class_pairs(SENTENCES[:6], labels, rng())
    assert len(drawn.same) == 6 * 2 * ITERATIONS
    assert np.array_equal(drawn.same, labels[drawn.left] == labels[drawn.right])
    assert drawn.same.mean() == 0.5
    counts = Counter(zip(drawn.left.tolist(), drawn.right.tolist(), strict=True))
    for same, pairs_of_kind in ((True, 6 + 3 + 1), (False, 3 * 2 + 3 * 1 + 2 * 1)):
        times = [count for (left, right), count in counts.items() if (labels[left] == labels[right]) == same]
        assert len(times) == pairs_of_kind
        assert max(times) - min(times) <= 1
    cut = class_pairs(SENTENCES[:6], labels, rng(), most=32)
    assert np.array_equal(cut.left, drawn.left[:32])


def test_the_task_has_the_draws_of_shots_and_repeats_its_numbers(encoder: Encoder) -> None:
    data, frozen = load_task("setfit2(rate=1e-3_steps=3):banking77-dev", None), load_task("shots2:banking77-dev", None)
    assert isinstance(data, FineTuned)
    assert isinstance(frozen, FewLabels)
    assert [draw.tolist() for draw in data.draws] == [draw.tolist() for draw in frozen.draws[:5]]
    few = FineTuned(data.texts, data.labels, data.draws[:2], data.test[:80], data.rate, data.steps)
    task = parse_tasks("setfit2(rate=1e-3_steps=3):banking77-dev")[0]
    results = [score_all([(task, few)], encoder.embed, tuner_of(encoder.embed))[0] for _ in range(2)]
    assert results[0][1].shape == (80, 2)
    assert np.array_equal(results[0][1], results[1][1])
    assert task.protocol == "setfit(shots=2 draws=5 rate=0.001 steps=3)@1"
    assert task.name == "setfit2(rate=1e-3_steps=3):banking77-dev"


def test_fine_tuning_separates_the_classes_of_other_sentences(encoder: Encoder) -> None:
    """Two classes that differ in one word."""
    texts = [f"{sentence} {word}" for sentence in SENTENCES[:24] for word in ("yes", "no")]
    labels = np.array([0, 1] * 24)

    def separation(vectors: np.ndarray) -> float:
        cosines, same = np.corrcoef(vectors), labels[16:, None] == labels[16:]
        return float(cosines[same].mean() - cosines[~same].mean())

    trained = tuned(encoder, class_pairs(texts[:16], labels[:16], rng()), 1e-3, seed=0)
    assert separation(encoder.embed(texts[16:])) < 0.5
    assert separation(trained(texts[16:])) > 0.9


@pytest.mark.parametrize("options", ["()", "(rate=0)", "(speed=3)", "(rate=1e-3 steps=5)", "(steps=0)"])
def test_options_are_named(options: str) -> None:
    with pytest.raises(BadSpec, match="write options such as"):
        parse_tasks(f"setfit2{options}:trec")


def test_an_encoder_that_cannot_be_trained_is_told_so() -> None:
    result = refused("eval", "words:random", "--tasks", "setfit2:banking77-dev")
    assert "setfit trains the encoder, and this one cannot be trained" in result.replace("\n", " ")
    with pytest.raises(CsebError, match="cannot be trained"):
        cseb.evaluate(lambda texts: np.ones((len(texts), 2)), tasks="setfit2:banking77-dev")


def test_clinc150_has_classes_too() -> None:
    data = load_task("shots16:clinc150-dev", None)
    assert isinstance(data, FewLabels)
    assert [len(draw) for draw in data.draws] == [16 * 30] * 10
    assert len(data.test) == 300
    assert np.bincount(data.labels).tolist() == [30] * 30
