"""Types of the fields of a benchmark file: what YAML and the command line write, as Python values."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field
from pydantic.types import StringConstraints

from cseb.parameters import MOST

DIGITS = 100  # of a number


def joined(value: object) -> object:
    """Return a list of texts as one text with commas, as the command line writes it; other values unchanged."""
    return ",".join(value) if isinstance(value, list) and all(isinstance(item, str) for item in value) else value


def numbers(value: object) -> object:
    """Return `0.001,0.01`, a number or a list as a tuple. YAML reads 1e-3 as text, so texts become numbers."""
    items = value.split(",") if isinstance(value, str) else value if isinstance(value, list | tuple) else [value]
    return tuple(_number(item) for item in items)


def _number(item: object) -> object:
    for kind in (int, float):
        try:
            return kind(item) if isinstance(item, str) and len(item) <= DIGITS else item
        except ValueError:
            continue
    return item


Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]  # part of a file name
Line = Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f]*$")]
Filled = Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f]+$")]
Dev = Annotated[Line, BeforeValidator(lambda value: "" if value == "none" else value)]
Texts = Annotated[Filled, BeforeValidator(joined, json_schema_input_type=Filled | list[Filled])]
Numbers = float | str | list[float | str]  # as they may be written
Layout = Annotated[str, StringConstraints(pattern=r"^(few-shot|tasks|(ablation|sensitivity)( \S+)?)?$")]
Fractions = Annotated[
    tuple[Annotated[float, Field(gt=0, le=1)], ...], BeforeValidator(numbers, json_schema_input_type=Numbers)
]
Counts = Annotated[
    tuple[Annotated[int, Field(ge=1, le=MOST)], ...], BeforeValidator(numbers, json_schema_input_type=Numbers)
]
