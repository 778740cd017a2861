"""Short texts, percentages and quantities; untrusted text is in tests/commands/test_screen.py."""

import pytest

from cseb.text import percent, quantity, shortened


def test_long_text_is_cut_to_the_limit() -> None:
    assert shortened("abcdef", 5) == "ab..."
    assert shortened("abcde", 5) == "abcde"


@pytest.mark.parametrize(
    ("fraction", "printed"), [(0.001, "0.1 %"), (0.01234, "1.234 %"), (0.07, "7 %"), (1 / 3, "33.33 %"), (1.0, "100 %")]
)
def test_fractions_are_printed_as_percent(fraction: float, printed: str) -> None:
    assert percent(fraction) == printed


@pytest.mark.parametrize(
    ("count", "printed"),
    [(0, "0 jobs"), (1, "1 job"), (2, "2 jobs"), (2000, "2,000 jobs"), (1.0, "1 job"), (0.5, "0.5 jobs")],
)
def test_one_thing_is_singular(count: float, printed: str) -> None:
    assert quantity(count, "job") == printed
