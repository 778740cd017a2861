"""Lists and texts with commas mean the same."""

from collections.abc import Iterable

import pytest

from cseb.commands.results import joined, methods_of, names
from cseb.errors import BadBenchmark, BadSpec
from cseb.parameters import sizes_and_fractions


@pytest.mark.parametrize("given", ["a,b", ["a", "b"], ("a", "b"), iter("ab")])
def test_names_are_joined_with_commas(given: str | Iterable[str]) -> None:
    assert joined(given) == "a,b"


def test_numbers_are_joined_as_they_are_written() -> None:
    assert joined([0.01, 1]) == "0.01,1"


@pytest.mark.parametrize("given", [" a, b,", ["a ", " b", ""]])
def test_names_lose_blanks_and_empty_ones_go(given: str | list[str]) -> None:
    assert names(given) == ("a", "b")


def test_methods_keep_their_options_and_are_named_once() -> None:
    assert methods_of("simcse,micse+recipe(steps=5,batch_size=8)") == ("simcse", "micse+recipe(steps=5,batch_size=8)")
    assert methods_of("") == methods_of([]) == ()
    with pytest.raises(BadSpec):
        methods_of("simcse+recipe(steps=5")
    with pytest.raises(BadSpec, match="name each once"):
        methods_of("simcse,micse,simcse")


def test_training_set_sizes_are_sentences_or_fractions_of_the_corpus() -> None:
    assert sizes_and_fractions("100,0.01, 1_000") == ((100, 1000), (0.01,))
    assert sizes_and_fractions([100, 1.0]) == ((100,), (1.0,))
    assert sizes_and_fractions(0.5) == ((), (0.5,))
    for wrong in ("a", "0.1%", "10.5", [-1], [True, None]):
        with pytest.raises(BadBenchmark, match="`sizes` is"):
            sizes_and_fractions(wrong)
