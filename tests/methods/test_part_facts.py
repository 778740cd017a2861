"""What parts state of themselves: facts.json has it for the built-in ones, and agrees with their classes."""

import json

import pytest

from cseb.errors import BadSpec
from cseb.methods.part_facts import TABLE, Facts, Option, facts, imported
from cseb.registry import SLOTS

BUILTIN = [name for registry in SLOTS.values() for name in registry.builtin]
STALE = "facts.json is not what the classes state; write it again: python -m benchmarks.facts"


def test_the_table_has_every_built_in_part_and_no_other() -> None:
    assert list(json.loads(TABLE.read_text(encoding="utf-8"))) == sorted(BUILTIN), STALE


@pytest.mark.parametrize("name", BUILTIN)
def test_the_table_says_what_the_class_states(name: str) -> None:
    assert facts(name) == imported(name), STALE


def test_options_without_a_default_must_be_given_and_others_must_exist() -> None:
    part = Facts(name="mine", slot="terms", where="", options=(Option("strength", float), Option("power", float, 2.0)))
    part.check({"strength": 3.0})
    with pytest.raises(BadSpec, match="mine needs a value for strength"):
        part.check({})
    with pytest.raises(BadSpec, match="no option 'strenth'; did you mean strength"):
        part.check({"strenth": 1})
