"""Text tables are the same on every screen, and nothing in a cell is an order to the drawing."""

import pytest

from cseb.text import aligned


def test_columns_start_below_each_other() -> None:
    assert aligned([("a", "b", "c"), ("aaa", "", "d")]) == ["a    b  c", "aaa     d"]
    lines = ["name  n", "───────", "a     1", "      2", "aaa   3"]
    assert aligned([("a", "1\n2"), ("aaa", "3")], ("name", "n")) == lines
    assert aligned([]) == []
    assert aligned([], ("name", "n")) == ["name  n", "───────"]


def test_only_the_last_column_is_wrapped_and_only_where_a_width_is_given() -> None:
    words = "one two three four"
    assert aligned([("  name", words)]) == [f"  name  {words}"]
    assert aligned([("  name", words)], width=20) == ["  name  one two", "        three four"]
    assert aligned([("x" * 300, "y")]) == ["x" * 300 + "  y"]


def test_no_cell_is_markup_and_no_environment_brings_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("COLUMNS", "10")
    assert aligned([("[bold]a[/bold]", ":smile: [1.00, 2.00]")], ("[red]h", "b")) == [
        "[red]h          b",
        "────────────────────────────────────",
        "[bold]a[/bold]  :smile: [1.00, 2.00]",
    ]
