"""The recommendation in worlds whose truth is known, and its sentence."""

from pathlib import Path

import numpy as np
import pytest

from cseb.advice.conclusion import (
    AS_IT_IS,
    TF_IDF,
    Difference,
    Recommendation,
    best_base,
    check,
    conclude,
    detectable,
    pooler_of,
    row,
)
from cseb.advice.examples import repeated
from cseb.analysis.paired import Sample
from cseb.errors import BadResults
from cseb.statistics.items import Interval

SEEDS = range(3, 8)
EXAMPLES = 400


def right(chance: np.ndarray, rng: np.random.Generator) -> tuple[float, np.ndarray]:
    """Accuracy in points on examples that are right with these chances, and what each contributes."""
    hits = 100.0 * (rng.random(EXAMPLES) < chance)
    return float(hits.mean()), (hits - hits.mean()) / EXAMPLES


def world(gain: float, words: float, seed: int) -> tuple[Sample, Sample, Sample]:
    """The encoder, a trained method that is truly `gain` points better, and TF-IDF, truly `words` points better."""
    rng = np.random.default_rng(seed)
    easy = rng.random(EXAMPLES) < 0.6  # examples that every encoder gets right, so that they are correlated
    chances = [np.where(easy, 1.0, 0.5 + points / 40) for points in (0.0, gain, words)]
    base, tfidf = (right(chances[place], rng) for place in (0, 2))
    runs = {seed: right(chances[1], rng) for seed in SEEDS}
    trained = Sample("crops", {s: value for s, (value, _) in runs.items()}, {s: each for s, (_, each) in runs.items()})
    alone = [Sample(name, {0: value}, {0: each}) for name, (value, each) in ((AS_IT_IS, base), (TF_IDF, tfidf))]
    return repeated(alone[0], SEEDS), trained, repeated(alone[1], SEEDS)


def chosen(gain: float, words: float) -> list[str]:
    return [conclude(*world(gain, words, seed), 3)[1] for seed in range(100)]


def test_a_folder_that_cannot_be_written_is_refused_before_training(tmp_path: Path) -> None:
    check([], tmp_path / "model")
    assert not list(tmp_path.iterdir())
    with pytest.raises(BadResults, match=r"^/proc/model cannot be written: "):
        check([], Path("/proc/model"))


def test_a_method_that_truly_helps_is_recommended() -> None:
    assert chosen(gain=15, words=-15).count("crops") >= 95


def test_a_method_that_changes_nothing_or_harms_is_not_recommended() -> None:
    assert chosen(gain=0, words=-15).count(AS_IT_IS) >= 95
    assert set(chosen(gain=-15, words=-15)) == {AS_IT_IS}


def test_tf_idf_is_the_headline_where_it_truly_wins() -> None:
    assert chosen(gain=0, words=18).count(TF_IDF) >= 95
    sentence, _ = conclude(*world(0, 18, 0), 3)
    assert sentence.startswith("Use TF-IDF: the best encoder (encoder as it is) is ") and " lower (-" in sentence


def sample(name: str, *points: float) -> Sample:
    return Sample(name, dict(zip(SEEDS, points, strict=False)), {})


POOR = sample(TF_IDF, *[10.0] * 5)


def test_the_sentence_says_what_to_do_by_how_much_and_what_was_tried() -> None:
    base, worse = sample(AS_IT_IS, *[50.0] * 5), sample("simcse", 48.8, 48.7, 48.9, 48.8, 48.8)
    assert conclude(base, worse, POOR, 1)[0] == "Keep the encoder as it is: simcse is 1.2 lower (-1.3 to -1.1)."
    assert "simcse, the best of 4 methods, is 1.2 lower" in conclude(base, worse, POOR, 4)[0]
    unclear, _ = conclude(base, sample("simcse", 49, 52, 50, 49, 51), POOR, 4)
    assert unclear.endswith("is 0.2 higher (-1.4 to 1.8), not a significant difference.")
    pooled = sample("mean pooling", *[40.0] * 5)
    sentence = "Use mean pooling without training: no method could be trained."
    assert conclude(pooled, None, POOR, 4) == (sentence, "mean pooling")
    assert conclude(pooled, None, None, 4) == conclude(pooled, None, POOR, 4)
    better, _ = conclude(pooled, worse, POOR, 4)
    assert better == "Train with simcse: it is 8.8 higher (8.7 to 8.9) than mean pooling without training."


def test_another_pooling_must_be_better_by_the_margin_to_replace_the_own_one() -> None:
    own = sample(AS_IT_IS, 50.0)
    assert best_base([own, sample("mean pooling", 50.4)]) == AS_IT_IS
    assert best_base([own, sample("mean pooling", 50.6), sample("cls pooling", 50.7)]) == "cls pooling"


def test_a_difference_is_significant_where_its_interval_excludes_zero() -> None:
    assert [Difference(1.0, Interval(*ends)).sign for ends in ((0.1, 2), (-0.1, 2), (-2, -0.1))] == [1, 0, -1]
    assert Difference(1.0, None).sign == 0


def test_the_table_leaves_out_columns_without_content() -> None:
    base, other = sample(AS_IT_IS, 50.0), sample("crops", 51.0, 53.0)
    lines = Recommendation("x", rows=(row(base, None, base),)).table().splitlines()
    assert lines[0].split() == ["deciding"] and lines[-1].split() == ["encoder", "as", "it", "is", "50.00"]
    cells = row(sample(AS_IT_IS, 50.0, 50.0), None, other)
    assert cells[:3] == ("crops", "", "52.00") and cells[4] == "2"
    assert cells[3].startswith("+2.0 (")


@pytest.mark.parametrize("notes", [(), ("a note",)])
def test_a_recommendation_without_a_table_is_its_sentence(notes: tuple[str, ...]) -> None:
    assert str(Recommendation("Do this.", notes=notes)) == "\n\n".join(("Do this.", *notes))


def test_four_times_as_many_examples_detect_half_the_difference() -> None:
    few, many = (Sample("x", {0: 50.0}, {0: np.tile([1.0, -1.0], count) / count}) for count in (50, 200))
    assert detectable(few, 5) == pytest.approx(2 * detectable(many, 5), rel=0.02)
    assert detectable(few, 5) == pytest.approx(2.8 * np.sqrt(0.2 * 100 / 50**2), rel=0.02)  # of 100 examples


@pytest.mark.parametrize(
    ("settings", "pooler"),
    [
        ("", "mean"),
        ('{"pooling_mode_mean_tokens": true}', "mean"),
        ('{"pooling_mode_cls_token": true}', "cls"),
        ('{"pooling_mode_lasttoken": true}', "last"),
        ('{"pooling_mode": "lasttoken"}', "last"),
    ],
)
def test_the_pooling_of_a_finished_model(tmp_path: Path, settings: str, pooler: str) -> None:
    (tmp_path / "1_Pooling").mkdir()
    (tmp_path / "1_Pooling" / "config.json").write_text(settings)
    assert pooler_of(tmp_path) == pooler
