"""The shipped JSON Schema of records and benchmark files is that of the models, and refuses what they refuse."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from benchmarks.schemas import schemas
from cseb.data import shipped
from cseb.experiment import benchmark
from cseb.records.store import Store, record_bytes
from tests.command_line import call
from tests.factory import record

ROOT = Path(__file__).parents[2]


def validator(name: str) -> Any:
    schema = json.loads(shipped.schema(name).read_text("utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


@pytest.mark.parametrize("name", ["benchmark", "record"])
def test_the_shipped_schema_is_that_of_the_model(name: str) -> None:
    text = shipped.schema(name).read_text("utf-8")
    assert text == schemas()[name], "run python -m benchmarks.schemas"
    assert call("data", "schema", name).stdout == text


def test_every_benchmark_file_fits_its_schema_and_names_it() -> None:
    check = validator("benchmark")
    paths = [shipped.benchmarks() / f"{name}.yaml" for name in shipped.benchmark_names()]
    assert len(paths) > 30
    for path in paths:
        text = path.read_text("utf-8")
        check.validate(yaml.safe_load(text))
        first, _, where = text.splitlines()[0].partition("$schema=")
        assert first == "# yaml-language-server: "
        assert (path.parent / where).resolve() == shipped.schema("benchmark").resolve()


def test_lists_and_text_are_both_allowed_in_a_benchmark_file() -> None:
    grid = {"name": "x", "methods": ["cls", "mean"], "encoder": "e", "corpus": "c", "seeds": 1, "tasks": ["snli"]}
    for axis in ({"sizes": 100}, {"sizes": "100,1000"}, {"fractions": [0.1, "1e-2"]}):
        validator("benchmark").validate(grid | axis)
        benchmark.Benchmark.model_validate(grid | axis)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"enocder": "x"}, "'enocder' was unexpected"),
        ({"seeds": "two"}, "'two' is not of"),
        ({"seeds": 0}, "0 is less"),
    ],
)
def test_a_mistake_in_a_benchmark_file_is_found(change: dict[str, object], message: str) -> None:
    demo = yaml.safe_load((shipped.benchmarks() / "demo.yaml").read_text("utf-8"))
    with pytest.raises(jsonschema.ValidationError, match=message):
        validator("benchmark").validate(demo | change)


def test_records_fit_their_schema(tmp_path: Path) -> None:
    check = validator("record")
    store = Store(ROOT / "results" / "real")
    archived = [json.loads(store.content(key)) for key in sorted(store.keys())[:5]]
    first = json.loads(record_bytes(record(failed="no"), tmp_path))
    for data in (*archived, first):
        check.validate(data)
        with pytest.raises(jsonschema.ValidationError, match="'sede' was unexpected"):
            check.validate(data | {"sede": 1})
    wrong = archived[0] | {"parts": [{"name": "cls", "version": 1}]}
    with pytest.raises(jsonschema.ValidationError, match="'options' is a required property"):
        check.validate(wrong)
