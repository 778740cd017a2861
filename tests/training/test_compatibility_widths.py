"""Vectors of two widths that nothing could compare: refused before anything is trained."""

from collections.abc import Callable
from pathlib import Path

import pytest

from cseb.errors import BadSpec
from cseb.methods.grammar import parse_method
from cseb.training.build import check

SMALL = "+recipe(steps=2,batch_size=4,warmup=0)"


def checked(method: str, folder: Path) -> None:
    check(parse_method(method).at(1.0), folder, teacher_width=lambda _: 0)


@pytest.mark.parametrize(
    ("method", "message"),
    [
        ("bert-flow+project", r"flow is as wide as the encoder, \d+ numbers, and project keeps 1024 at test"),
        ("rankencoder+regulators+relu_mlp(width=3)" + SMALL, r"relu_mlp gives 3, they have \d+; take \+none"),
    ],
)
def test_other_widths_are_one_line(tiny: Callable[[str], Path], method: str, message: str) -> None:
    with pytest.raises(BadSpec, match=message):
        checked(method, tiny("bert"))


@pytest.mark.parametrize("method", [f"rcl+relu_mlp(width=3){SMALL}", f"rankencoder+regulators{SMALL}", "bert-flow"])
def test_equal_widths_are_none_of_its_business(tiny: Callable[[str], Path], method: str) -> None:
    checked(method, tiny("bert"))
