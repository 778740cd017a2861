"""Untrusted text: nothing a terminal or a spreadsheet would obey gets through."""

import json

import pytest

from cseb.text import csv_row, json_text, message, percent, plain, quantity, shortened, shown

RED = "\x1b[31mred\x1b[0m"


def test_escape_sequences_and_line_ends_become_harmless() -> None:
    assert plain(f"{RED}\nnext\tline") == "[31mred [0m next line"
    assert "\x1b" not in shown(RED)
    assert shown("a\r\nb\tc") == "a\nb\tc"
    assert "\u202e" not in shown("right \u202e to left")


def test_long_text_is_cut_to_the_limit() -> None:
    assert shortened("abcdef", 5) == "ab..."
    assert shortened("abcde", 5) == "abcde"
    assert len(plain("x" * 1000)) == 200
    assert "\n" not in message("one\ntwo")


@pytest.mark.parametrize("cell", ["=1+1", "+cmd", "-cmd", "@SUM(A1)"])
def test_formulas_are_quoted_and_numbers_are_not(cell: str) -> None:
    assert csv_row({"a": cell, "b": "-1.5", "c": 2, "d": "text"}) == {"a": f"'{cell}", "b": "-1.5", "c": 2, "d": "text"}


def test_json_reads_back_to_the_same_text() -> None:
    written = json_text({"a": RED})
    assert "\x1b" not in written
    assert json.loads(written) == {"a": RED}


@pytest.mark.parametrize(("fraction", "printed"), [(0.001, "0.1 %"), (0.01234, "1.234 %"), (1.0, "100 %")])
def test_fractions_are_printed_as_percent(fraction: float, printed: str) -> None:
    assert percent(fraction) == printed


@pytest.mark.parametrize(
    ("count", "printed"),
    [(0, "0 jobs"), (1, "1 job"), (2, "2 jobs"), (2000, "2,000 jobs"), (1.0, "1 job"), (0.5, "0.5 jobs")],
)
def test_one_thing_is_singular(count: float, printed: str) -> None:
    assert quantity(count, "job") == printed
