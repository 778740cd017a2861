"""The script that recomputes numbers of sentences, README's table and intervals finds planted differences."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks import recompute, recomputed_intervals, recomputed_numbers, recomputed_statements

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "results"
FEW_LABELS = RESULTS / "few-labels" / "README.md"


BELOW = "simcse+mean - words:tf-idf*; 2970; tasks=setfit2(rate=1e-3_steps=50):banking77; than_tasks=shots2:banking77"


@pytest.mark.parametrize(
    ("paragraph", "words"),
    [
        ("It adds 1.1 to 1.5. <!-- 1.1 to 1.5: simcse+mean - mean; 1000,10000 -->", ""),
        ("It adds 1.1 to 1.6. <!-- 1.1 to 1.6: simcse+mean - mean; 1000,10000 -->", "recomputed 1.092 to 1.527"),
        ("It adds 1.0 to 1.5. <!-- 1.0 to 1.5: simcse+mean - mean; 1000,10000 -->", "recomputed 1.092 to 1.527"),
        ("It has 61.07. <!-- 61.07: simcse+mean; 1000 -->", ""),
        ("It has 61.08. <!-- 61.08: simcse+mean; 1000 -->", "recomputed 61.0"),
        ("It gains 0.8. <!-- 0.8: simcse - 100; 10000 -->", ""),
        ("It gains 0.9. <!-- 0.9: simcse - 100; 10000 -->", "recomputed 0.8"),
        ("It is worse by 4.1. <!-- -4.1: cls - mean; 100 -->", ""),
        ("Two have 55.4 to 59.5. <!-- 55.4 to 59.5: cls,mean; 100 -->", ""),
        ("It has 59.5. <!-- 59.5: mean,simcse-3; 100 -->", "no records"),
        ("It has 59.5. <!-- 59.5: mean; 200 -->", "no records"),
        ("It adds 0.6. <!-- 0.6: simcse+mean - nothing; 100 -->", "no records"),
        ("It gains 0.8. <!-- 0.8: simcse - 200; 10000 -->", "no records"),
        ("It gains three to four points. <!-- 3 to 4: simcse - cls; 100,1000,10000 -->", ""),
        ("It gains 3 to 5 points. <!-- 3 to 5: simcse - cls; 100,1000,10000 -->", "recomputed 3.1"),
        ("It gains three to four\npoints. <!-- 3: simcse - cls; 100 -->", "4 has no comment"),
        ("It gains 3 points.", "3 has no comment"),
        ("Within 0.1. <!-- < 0.1: distil-cos - mean; 100 -->", "no records"),
        ("Within 0.7. <!-- < 0.7: crops - mean; 100 -->", ""),
        ("Within 0.4. <!-- < 0.4: crops - mean; 100 -->", "less than 0.4, recomputed 0.5"),
        ("Within 0.7. <!-- < 0.7: crops,simcse+mean - mean; 10000 -->", "less than 0.7, recomputed"),
        ("Within 4.1. <!-- < 4.1: cls - mean; 100 -->", "less than 4.1, recomputed -4.1"),
        ("By 4 to 8 points. <!-- 4 to 8: simcse - cls; 10000; folder=results/reading/tiny-* -->", ""),
        (f"TF-IDF is 5.8 better. <!-- -5.8: {BELOW}; folder=results/few-labels -->", ""),
        (f"TF-IDF is 5.9 better. <!-- -5.9: {BELOW}; folder=results/few-labels -->", "recomputed -5.8"),
        ("By 5.8. <!-- 5.8: simcse - cls; 10000; folder=results/read/tiny-* -->", "no such folder"),
        ("It has 59.5.", "59.5 has no comment"),
        ("It has 59.5 and 55.4. <!-- 59.5: mean; 100 -->", "55.4 has no comment"),
        ("They report 75.0. <!-- not recomputed: 75.0; the papers report it -->", ""),
        ("They report 75.1. <!-- not recomputed: 75.0; the papers report it -->", "75.1 has no comment"),
        ("`recipe(dropout=0.3)`, Python 3, cseb 1.2.0 and [here](a-1.5.md).", ""),
        ("Above.\n\n## Setup\n\nIt has 59.5.", ""),
        ("It has 60.9. <!-- 60.9: congen*; 10000; folder=results/steps/cpu; seed=2 -->", ""),
        ("It has 60.9. <!-- 60.9: congen*; 10000; folder=results/steps/cpu; seed=1 -->", "recomputed 64.0"),
    ],
)
def test_numbers_of_sentences_are_recomputed(paragraph: str, words: str, tmp_path: Path) -> None:
    page = tmp_path / "README.md"
    page.write_text(paragraph, "utf-8")
    found = list(recomputed_numbers.check_numbers(page, RESULTS / "tuned"))
    assert len(found) == bool(words)
    assert all(words in difference for difference in found), found


@pytest.mark.parametrize(
    ("paragraph", "words"),
    [
        ("Just not (p = 0.066). <!-- msse = simcse; 10000; p=0.066 -->", ""),
        ("Just not (p = 0.067). <!-- msse = simcse; 10000; p=0.067 -->", "p = 0.066"),
        ("Just not (p = 0.067). <!-- msse = simcse; 10000; p=0.066 -->", "p = 0.067 has no comment"),
        ("Just not (p = 0.066).", "p = 0.066 has no comment"),
        ("Just not (p = 0.066). <!-- msse = simcse; 100,10000; p=0.066 -->", "msse = simcse: p = 0."),
        ("Neither (p = 0.066 and 1.000). <!-- msse,micse = simcse; 10000; p=0.066,1.000 -->", ""),
        ("It is not (p = 0.066). <!-- msse > simcse; 10000; p=0.066 -->", "it is inconclusive"),
        ("It is not (p = 0.066). <!-- msce = simcse; 10000; p=0.066 -->", "p = none"),
    ],
)
def test_p_values_of_sentences_are_recomputed(paragraph: str, words: str, tmp_path: Path) -> None:
    page = tmp_path / "README.md"
    page.write_text(paragraph, "utf-8")
    found = list(recomputed_statements.check_statements(page, RESULTS / "tuned"))
    assert any(words in difference for difference in found) if words else found == []
    assert list(recomputed_numbers.check_numbers(page, RESULTS / "tuned")) == []


def test_tf_idf_is_the_mean_of_its_draws() -> None:
    number = recomputed_numbers.Number.read("63.2: words:tf-idf:wiki1m-100-*; 0")
    assert number and number.wrong(RESULTS / "tuned" / "tf-idf") == ""


def test_the_table_of_the_readme_is_recomputed(tmp_path: Path) -> None:
    readme = ROOT / "README.md"
    text = readme.read_text("utf-8")
    page = tmp_path / "README.md"
    for before, after in [
        ("| 59.3 | 61.9 |", "| 59.3 | 62.0 |"),
        ("| 75.0 |", "| 75.1 |"),
        ("| 63.2 | 64.7", "| 63.3 | 64.7"),
    ]:
        page.write_text(text, "utf-8")
        assert list(recomputed_numbers.check_table(page)) == []
        assert before in text
        page.write_text(text.replace(before, after), "utf-8")
        assert len(list(recomputed_numbers.check_table(page))) == 1


def test_intervals_of_few_labels_are_recomputed() -> None:
    tables = [(heads, rows) for _, heads, rows in recompute.tables(FEW_LABELS.read_text("utf-8"))]
    [(heads, rows)] = [(heads, rows) for heads, rows in tables if "95 % interval" in heads]
    assert len(rows) == 14
    assert list(recomputed_intervals.check_intervals(FEW_LABELS, heads, rows)) == []
    for column, planted in {"difference": "+4.96", "95 % interval": "4.1 to 5.9"}.items():
        wrong = [cell if head != column else planted for head, cell in zip(heads, rows[0], strict=True)]
        assert len(list(recomputed_intervals.check_intervals(FEW_LABELS, heads, [wrong]))) == 1


def test_an_interval_covers_the_difference_as_often_as_it_says() -> None:
    """Seeds and examples vary, both drawn anew: in 95 % of the cases the interval has the true difference, 0."""
    rng, covered = np.random.default_rng(0), 0
    for _ in range(400):
        seeds, examples = rng.normal(0, 1, (5, 1)), rng.normal(0, 20, 400)
        low, _, high = recomputed_intervals.interval(np.zeros((5, 400)), seeds + examples)
        covered += low <= 0 <= high
    assert 0.93 <= covered / 400 <= 0.985
