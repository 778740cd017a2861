"""Write benchmarks/schema: the JSON Schema of records and of benchmark files, from their pydantic models.

Run it in the root of the repository after a field has changed: python -m benchmarks.schemas
"""

from __future__ import annotations

import json
from typing import Any

from cseb.data.shipped import schema
from cseb.experiment.benchmark import Benchmark
from cseb.parameters import Parameter
from cseb.records.record import SCHEMA, Record
from cseb.version import __version__

DRAFT = "https://json-schema.org/draft/2020-12/schema"


def schemas() -> dict[str, str]:
    """Return the text of each schema by its name."""
    benchmark = Benchmark.model_json_schema()
    for name, field in Benchmark.model_fields.items():
        for option in field.metadata:
            if isinstance(option, Parameter):
                benchmark["properties"][name]["description"] = option.help
    return {
        "benchmark": _text(f"urn:cseb:benchmark:{__version__}", benchmark),
        "record": _text(f"urn:cseb:record:{SCHEMA}", Record.model_json_schema()),
    }


def _text(name: str, model: dict[str, Any]) -> str:
    for fields in (model, *model["$defs"].values()):
        fields.pop("description", None)  # the docstrings of classes are for programmers
    return json.dumps({"$schema": DRAFT, "$id": name, **model}, indent=1) + "\n"


if __name__ == "__main__":
    for name, text in schemas().items():
        schema(name).parent.mkdir(exist_ok=True)
        schema(name).write_text(text, encoding="utf-8")
