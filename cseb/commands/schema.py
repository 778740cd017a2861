"""The command that prints a JSON Schema."""

from __future__ import annotations

from typing import Annotated

from cseb.parameters import argument, command

KINDS = ("record", "benchmark")


@command
def schema(kind: Annotated[str, argument("What the schema describes.", choices=KINDS)]) -> str:
    """Print the JSON Schema of records or of benchmark files, for editors and other programs."""
    from cseb.data import shipped

    return shipped.schema(kind).read_text(encoding="utf-8").rstrip("\n")
