"""Parts of a method stored as data: the same parts after a round trip, and what is no part."""

import json

import pytest

from cseb.errors import BadResults
from cseb.methods.grammar import parse_method
from cseb.records.method_text import stated, written
from cseb.records.record import Record
from cseb.records.store import Store
from cseb.registry import METHODS
from tests.factory import record


def test_a_record_has_the_parts_as_data_and_reads_back(store: Store) -> None:
    written_record = record()
    store.write(written_record, {})
    content = json.loads((store.runs / f"{written_record.key}.json").read_text())
    assert [part["name"] for part in content["parts"]] == [part.part.name for part in written_record.parts]
    assert all(set(part) == {"name", "version", "options"} for part in content["parts"])
    assert store.read(written_record.key) == written_record


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"parts": []}, "resolved and parts are two methods"),
        ({"parts": [{"name": "cls", "version": 1, "options": {"a": {"b": 1}}}]}, "resolved and parts are two methods"),
        ({"parts": "cls()@1"}, "resolved and parts are two methods"),
        ({"resolved": "cls()"}, r"the method cannot be read at 'cls\(\)'"),
        ({"format": 1}, "format 1; this version of cseb reads format 2"),
    ],
)
def test_parts_that_cannot_be_are_named(store: Store, change: dict[str, object], message: str) -> None:
    old = record()
    store.write(old, {})
    place = store.runs / f"{old.key}.json"
    place.write_text(json.dumps(json.loads(place.read_text()) | change))
    with pytest.raises(BadResults, match=message):
        store.read(old.key)


@pytest.mark.parametrize("name", METHODS.builtin)
def test_the_parts_of_every_method_are_its_text(name: str) -> None:
    """In JSON too: 1 and 1.0, tuples in tuples, words of quotes."""
    method = parse_method(name).at(0.001)
    parts = Record.model_validate_json(record(resolved=method.resolved()).model_dump_json()).parts
    assert (parts, written(parts)) == (stated(method), method.resolved())
