"""What several commands' options have in common: one folder of records, and numbers with commas between them."""

from pathlib import Path

import pytest

from cseb.commands.options import DEFAULT, folder_of, numbers
from cseb.errors import BadBenchmark


def test_a_folder_is_named_once_in_either_way() -> None:
    assert folder_of(None, None) == DEFAULT
    assert folder_of(Path("a"), None) == folder_of(None, Path("a")) == folder_of(Path("a"), Path("a")) == Path("a")
    with pytest.raises(BadBenchmark, match="two folders of records are given, a and --results b; name one"):
        folder_of(Path("a"), Path("b"))


def test_numbers_stand_between_commas() -> None:
    assert numbers("0.001, 0.01,", float, "--fractions") == [0.001, 0.01]
    assert numbers("100,1_000", int, "--sizes") == [100, 1000]
    assert numbers("", int, "--sizes") == []


@pytest.mark.parametrize(
    ("text", "kind", "such"), [("one", int, "100,1000"), ("1.5", int, "100"), ("x", float, "0.001")]
)
def test_what_is_no_number_is_named(text: str, kind: type, such: str) -> None:
    with pytest.raises(BadBenchmark, match=rf"--sizes is '{text}'.* such as {such}"):
        numbers(text, kind, "--sizes")
