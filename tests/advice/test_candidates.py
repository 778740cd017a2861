"""Who races when nobody is named, and who is left out."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from cseb.advice.candidates import TRAINED, contestants, width
from cseb.methods.grammar import parse_methods


@pytest.mark.parametrize(("hidden", "rates"), [(768, ("3e-05", "0.0003")), (128, ("0.0002", "0.002"))])
def test_rates_follow_the_width_of_the_encoder(tmp_path: Path, hidden: int, rates: tuple[str, str]) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"hidden_size": hidden}))
    found = contestants(tmp_path)
    assert len(found) == 2 * len(TRAINED)
    assert found[:2] == [f"{TRAINED[0]}+recipe(learning_rate={rate})" for rate in rates]
    assert [str(method) for method in parse_methods(",".join(found))] == found  # as records name them


@pytest.mark.parametrize("family", ["bert", "distilbert"])
def test_the_width_is_found_whatever_it_is_called(tiny: Callable[[str], Path], family: str) -> None:
    assert width(tiny(family)) == 16
