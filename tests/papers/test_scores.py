"""What papers print, found again by what a user types; and when a record may be held against it."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from cseb.methods.grammar import parse_method
from cseb.papers.scores import Printed, departures, encoder_id, published, read_scores, shipped_rows
from cseb.registry import METHODS
from tests.factory import record

BERT = "bert-base-uncased"


def means(rows: Iterable[Printed]) -> list[tuple[str, str, float]]:
    return [(row.paper, row.table, row.mean) for row in rows]


def test_all_rows_are_read() -> None:
    assert len(shipped_rows()) == 1361


def test_simcse_on_all_data_has_four_published_values() -> None:
    result = published("simcse", "sts-avg", 1.0, BERT)
    assert {row.mean for row in result} == {76.25, 76.15, 76.13, 75.63}
    assert ("msse", "Table 2", 76.13) in means(result)
    assert ("compcse", "Table 1", 76.25) in means(result)


def test_simcse_on_a_thousandth_has_three_and_the_doubtful_one_says_so() -> None:
    results = {row.mean: row for row in published("simcse", "sts-avg@1", 0.001, f"google-bert/{BERT}@main")}
    assert {mean: (row.std, row.n_seeds) for mean, row in results.items()} == {
        67.94: (1.16, 5), 66.69: (1.03, 5), 65.72: (0.25, 5),
    }  # fmt: skip
    assert results[66.69].flag == "inconsistent"
    assert results[67.94].flag == ""


def test_single_tasks_other_encoders_untrained_rows_and_triples() -> None:
    assert {row.mean for row in published("micse", "sts12", 1.0, BERT)} == {71.71}
    assert {row.mean for row in published("simcse", "sts-avg", 1.0, "roberta-base")} == {77.44, 76.57}
    assert means(published("cls", "sts-avg", 0.01, BERT)) == means(published("cls", "sts-avg", 1.0, BERT)) != []
    assert means(published("rcl", "sts-avg", 1.0, "sroberta-base")) == [("rcl", "Table 3", 82.40)]
    assert published("rcl", "sts-avg", 0.1, "sroberta-base") == []


@pytest.mark.parametrize(
    ("method", "fraction", "encoder"),
    [("simcse", 0.002, BERT), ("simcse", 1.0, "cseb-tiny"), ("simcse+recipe(steps=5)", 1.0, BERT)],
)
def test_what_nobody_has_printed_is_an_empty_list(method: str, fraction: float, encoder: str) -> None:
    assert published(method, "sts-avg", fraction, encoder) == []


def test_every_mapped_method_is_one_and_has_rows() -> None:
    methods = {row.cseb_method for row in shipped_rows()} - {""}
    assert len(methods) == 56
    for text in methods:
        assert parse_method(text).name in METHODS
        assert str(parse_method(text)) == text


def test_encoders_by_their_names_on_the_hub() -> None:
    assert encoder_id("./models/bert-base-uncased/") == encoder_id("bert-base") == "bert-base"
    assert encoder_id("FacebookAI/roberta-large") == "roberta-large"
    assert encoder_id("my-bert") == ""


def test_departures_name_what_is_not_as_in_the_paper() -> None:
    (row,) = (each for each in published("msse", "sts-avg", 0.001, BERT) if each.table == "Table 2")
    assert list(departures(record("msse", encoder="elsewhere"), "last", row)) == [
        "encoder elsewhere, theirs bert-base",
        "corpus of 100,000 sentences, theirs 1,000,000",
        "checkpoint: the last, theirs the best on stsb-dev",
    ]
    small = record("msse", size=10_000, encoder=BERT, measures={"sts12@1": "own-sts@1"})
    assert list(departures(small, "best", row))[1:] == [
        "10 % of the corpus, theirs 0.1 %",
        "measured as own-sts@1, simcse-sts@1, theirs simcse-sts",
    ]


def test_the_dev_set_counts_where_the_paper_names_one() -> None:
    msse, micse = (published(name, "sts-avg", 0.001, BERT)[0] for name in ("msse", "micse"))
    other = record("msse", encoder=BERT, dev="sickr-dev@1")
    assert list(departures(other, "best", msse))[-1] == "checkpoint: best on sickr-dev, theirs the best on stsb-dev"
    assert (micse.paper, msse.paper) == ("micse", "msse")
    for select in ("best", "last"):  # miCSE does not say which checkpoint it prints
        assert not any("checkpoint" in each for each in departures(other, select, micse))


def test_triples_are_no_wikipedia() -> None:
    (row,) = published("simcse-sup", "sts-avg", 1.0, BERT)
    labelled = record("simcse-sup", size=100_000, encoder=BERT, data_seen=("labels",))
    assert list(departures(labelled, "best", row)) == []
    assert list(departures(record("simcse-sup", size=100_000, encoder=BERT), "best", row)) == [
        "no labelled triples, theirs NLI"
    ]


def test_three_columns_are_enough(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("method,task,mean,colour\nsimcse,sts12,70.1,red\n")
    (row,) = read_scores(path)
    assert (row.mean, row.text, row.std, row.n_seeds, row.where) == (70.1, "70.1", None, None, "line 2")
