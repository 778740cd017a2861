"""Parameters of commands: read from text as from lists, checked by their definitions, written into docstrings."""

import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import pytest

from cseb.errors import BadBenchmark, BadSpec, CsebError
from cseb.parameters import argument, command, definitions, described, numbers, option


@command
def train(
    corpus: Annotated[str | Path, argument("Training sentences.")],
    *,
    sizes: Annotated[int | Sequence[int] | str, option("Sizes.", numbers=int)] = (),
    seeds: Annotated[int | None, option("Seeds.", least=1, most=9)] = None,
    rate: Annotated[float, option("Rate.")] = 0.5,
    fresh: Annotated[bool, option("Train again.")] = False,
    device: Annotated[str, option("Device.", choices=("cpu", "cuda"))] = "",
    slurm: Annotated[Sequence[str] | list[str], option("Options of sbatch.")] = (),
) -> tuple[object, ...]:
    """Train something.

    More of it.

    Returns:
        What was given.
    """
    return corpus, sizes, seeds, rate, fresh, device, slurm


def test_values_reach_the_function_as_its_signature_says() -> None:
    assert train("a.txt") == ("a.txt", (), None, 0.5, False, "", ())
    assert train(Path("a"), sizes="100,1_000", seeds=3)[1:3] == ((100, 1000), 3)
    assert train("a", sizes=[5, 6])[1] == (5, 6)
    assert train("a", sizes=7)[1] == (7,)
    assert train("a", seeds=np.int64(3))[2] == 3


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"sizes": "one"}, "`sizes` is 'one'; numbers of sentences"),
        ({"sizes": "5,000"}, "without commas inside a number"),
        ({"sizes": [1.5]}, "`sizes` is [1.5]; numbers of sentences"),
        ({"seeds": 0}, "`seeds` is 0; it must be a whole number of at least 1"),
        ({"seeds": "3"}, "`seeds` is '3'; it must be a whole number"),
        ({"seeds": 10}, "`seeds` is 10; it must be at most 9"),
        ({"rate": "x"}, "`rate` is 'x'; a finite number"),
        ({"fresh": 1}, "`fresh` is 1; True or False"),
        ({"device": "tpu"}, "`device` is 'tpu'; allowed: 'cpu', 'cuda'"),
    ],
)
def test_a_wrong_value_is_named_with_what_is_allowed(given: dict[str, object], said: str) -> None:
    with pytest.raises(CsebError) as error:
        train("a.txt", **given)
    assert said in str(error.value)


def test_fractions_are_above_0_and_at_most_1() -> None:
    assert numbers("0.001, 0.01,", float, "fractions") == (0.001, 0.01)
    assert numbers(1, float, "fractions") == (1.0,)
    for wrong in ("x", "1.5", 0, [0.1, -1], float("nan"), None, [None]):
        with pytest.raises(BadBenchmark, match=r"`fractions` is .*; fractions in \(0, 1\]"):
            numbers(wrong, float, "fractions")


def test_the_docstring_lists_every_parameter() -> None:
    text = inspect.getdoc(train) or ""
    assert "    device: Device. One of 'cpu', 'cuda'." in text.splitlines()
    assert text.index("More of it.") < text.index("Args:") < text.index("Returns:")
    assert described(train) == "Train something.\n\nMore of it."
    assert "Annotated" not in str(inspect.signature(train))


def test_the_kind_on_the_command_line_follows_from_the_type() -> None:
    kinds = {name: each.kind for name, each in definitions(train).items()}
    expected = {"corpus": object, "sizes": object, "seeds": int, "rate": float, "fresh": bool, "device": str}
    assert kinds == {**expected, "slurm": list}
    assert [each.typed for each in definitions(train).values()][:2] == ["CORPUS", "--sizes"]


def test_text_is_needed_where_text_is_read() -> None:
    @command
    def show(name: Annotated[str, argument("A name.")]) -> str:
        """Show."""
        return name

    with pytest.raises(BadSpec, match="`name` is 3; text is needed"):
        show(3)


def test_a_benchmark_file_and_run_share_the_definitions_of_their_settings() -> None:
    from cseb.commands.run import run
    from cseb.experiment.benchmark import Benchmark

    options = definitions(run)
    shared = [name for name in Benchmark.model_fields if name in options]
    assert len(shared) == 12
    for name in shared:
        assert options[name].parameter in Benchmark.model_fields[name].metadata, name
