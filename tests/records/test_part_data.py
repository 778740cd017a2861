"""Parts of a method stored as data: the same parts after a round trip, and what is no part."""

from __future__ import annotations

import json

import pytest

from cseb.errors import BadResults
from cseb.methods.grammar import parse_method
from cseb.records.method_text import PartDifference, part_differences, stated, written
from cseb.records.part_data import part_data, read_parts
from cseb.records.record import Record
from cseb.records.staleness import stale
from cseb.records.store import Store
from cseb.registry import METHODS
from tests.factory import record


def test_format_2_holds_the_parts_as_data_and_reads_back_to_the_same_record(store: Store) -> None:
    old = record()
    new = Record.model_validate(dict(old) | {"format": 2, "parts": old.stated()})
    store.write(new, {})
    held = json.loads((store.runs / f"{new.key}.json").read_text())
    assert held["format"] == 2
    assert [one["name"] for one in held["parts"]] == [one.part.name for one in old.stated()]
    assert all(set(one) == {"name", "version", "options"} for one in held["parts"])
    again = store.read(new.key)
    assert again == new
    assert (again.stated(), again.resolved) == (old.stated(), old.resolved)
    assert (stale(again), apart_of(again, old)) == (stale(old), [])


def apart_of(a: Record, b: Record) -> list[PartDifference]:
    return list(part_differences(a.stated(), b.stated()))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"parts": []}, "resolved and parts are two methods"),
        ({"parts": [{"name": "cls", "version": True, "options": {}}]}, "the version of a part"),
        ({"parts": [{"name": "cls", "version": 1}]}, "a part has name, version and options"),
        ({"parts": [{"name": "cls", "version": 1, "options": {"a": {"b": 1}}}]}, "an option is a finite number"),
        ({"parts": "cls()@1"}, "parts are a list"),
        ({"format": 1}, "parts do not belong into format 1"),
    ],
)
def test_parts_that_cannot_be_are_named(store: Store, change: dict[str, object], message: str) -> None:
    old = record()
    store.write(Record.model_validate(dict(old) | {"format": 2, "parts": old.stated()}), {})
    place = store.runs / f"{old.key}.json"
    place.write_text(json.dumps(json.loads(place.read_text()) | change))
    with pytest.raises(BadResults, match=message):
        store.read(old.key)


@pytest.mark.parametrize("name", METHODS.builtin)
def test_the_parts_of_every_method_are_its_text(name: str) -> None:
    """In JSON too: 1 and 1.0, tuples in tuples, words of quotes."""
    method = parse_method(name).at(0.001)
    parts = read_parts(json.loads(json.dumps(part_data(stated(method)))))
    assert (parts, written(parts)) == (stated(method), method.resolved())
