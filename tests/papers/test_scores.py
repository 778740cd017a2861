"""What papers print for the methods of cseb."""

from pathlib import Path

from cseb.methods.grammar import parse_method
from cseb.papers.scores import own_rows, read_scores, shipped_rows
from cseb.registry import METHODS


def test_all_rows_are_read() -> None:
    assert len(shipped_rows()) == 1361


def test_simcse_on_a_thousandth_has_three_values_and_the_doubtful_one_says_so() -> None:
    place = ("sts-avg", "bert-base", 0.001)
    results = {row.mean: row for row in own_rows("simcse") if (row.task, row.encoder, row.fraction) == place}
    assert {mean: (row.std, row.n_seeds) for mean, row in results.items()} == {
        67.94: (1.16, 5), 66.69: (1.03, 5), 65.72: (0.25, 5),
    }  # fmt: skip
    assert results[66.69].flag == "inconsistent"
    assert results[67.94].flag == ""
    assert own_rows("") == own_rows("simcse+recipe(steps=5)") == []


def test_every_mapped_method_is_one_and_has_rows() -> None:
    methods = {row.cseb_method for row in shipped_rows()} - {""}
    assert len(methods) == 56
    for text in methods:
        assert parse_method(text).name in METHODS
        assert str(parse_method(text)) == text


def test_three_columns_are_enough(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("method,task,mean,colour\nsimcse,sts12,70.1,red\n")
    (row,) = read_scores(path)
    assert (row.mean, row.text, row.std, row.n_seeds, row.where) == (70.1, "70.1", None, None, "line 2")
