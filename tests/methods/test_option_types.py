"""What options may be is read from annotations, for every built-in part, and answered before anything is built."""

import math
from dataclasses import replace
from typing import Any, get_args

import pytest

from cseb.encoder.interface import Shape
from cseb.errors import BadSpec, CsebError, number
from cseb.methods import option_types
from cseb.methods.grammar import parse_method
from cseb.methods.part_facts import facts, slot_of
from cseb.methods.spec import Edit, Part
from cseb.parts import online_augment, part_composition
from cseb.parts.terms import dimension_contrast, mutual_information
from cseb.registry import SLOTS
from cseb.training.construct import instantiate

PARTS = [name for registry in SLOTS.values() for name in registry.builtin]


@pytest.mark.parametrize("name", PARTS)
def test_every_option_of_every_part_says_what_it_may_be(name: str) -> None:
    silent = [option.name for option in facts(name).options if option.kind is None or not option.description]
    assert not silent, f"{name} leaves open what these options may be: {silent}"


@pytest.mark.parametrize(
    ("alias", "table"),
    [
        (part_composition.Strategy, part_composition.STRATEGIES),
        (part_composition.Aggregate, part_composition.AGGREGATES),
        (online_augment.TokenEdit, online_augment.EDITS),
        (mutual_information.Slicing, mutual_information.SLICINGS),
        (dimension_contrast.Form, dimension_contrast.FORMS),
    ],
)
def test_the_words_of_an_annotation_are_those_that_can_be_computed(alias: object, table: dict[str, object]) -> None:
    assert get_args(alias) == tuple(table)


@pytest.mark.parametrize(
    ("part", "option", "value", "message"),
    [
        ("queue", "size", "many", "queue: size is 'many'; it must be a whole number of at least 1"),
        ("queue", "size", 2.0, "queue: size is 2.0; it must be a whole number of at least 1"),
        ("queue", "mask_self", "maybe", "queue: mask_self is 'maybe'; allowed: True, False or 'auto'"),
        ("queue", "momentum", True, "queue: momentum is True; a finite number is needed"),
        ("drophead", "rate", 0.95, "drophead: rate is 0.95; it must lie between 0 and 0.9"),
        ("halves", "extra", "all", "halves: extra is 'all'; allowed: 'none', 'adjacent', 'overlapping', 'subsuming'"),
        ("compose", "first", 0, "compose: first is 0; it must be a whole number of at least 1"),
        ("repeated", "views", 1, "repeated: views is 1; it must lie between 2 and 16"),
        ("repeated", "views", 2.5, "repeated: views is 2.5; a whole number is needed"),
        ("multi_dropout", "rates", (0.1,), "multi_dropout: rates is (0.1,); it must be a tuple of 2: a number from 0"),
        ("multi_dropout", "rates", (0.1, 2), "multi_dropout: rates is 2; it must lie between 0 and 0.9"),
        ("cnn_mean", "widths", (1, 2), "cnn_mean: widths is 2; allowed: 1, 3, 5, 7, 9"),
        ("token_edits", "edits", ("swap",), "token_edits: edits is 'swap'; allowed: 'shuffle', 'reverse', 'delete'"),
        ("recipe", "dropout", "low", "recipe: dropout is 'low'; allowed: a number from 0 to 1 or 'model'"),
        ("recipe", "dropout", 2, "recipe: dropout is 2; it must lie between 0 and 1"),
    ],
)
def test_messages_name_what_was_found_and_what_is_allowed(part: str, option: str, value: object, message: str) -> None:
    with pytest.raises(BadSpec) as error:
        option_types.check({each.name: each.kind for each in facts(part).options}[option], value, f"{part}: {option}")
    assert message in str(error.value)


@pytest.mark.parametrize("annotation", ["Nowhere", "float[", "1 / 0", 5.0])
def test_an_annotation_that_cannot_be_evaluated_allows_everything(annotation: object) -> None:
    kind = option_types.evaluated(annotation, {})
    option_types.check(kind, object(), "part: option")
    assert option_types.description(kind) == ""


SHAPE = Shape(width=16, layers=2, heads=2, mask_token=True, pooled=True, dropout=0.1, open_attention=True, mask_id=1,
              vocabulary=40, language=True, first_position=0, pieces=lambda texts: iter(()))  # fmt: skip
VALUES: tuple[Any, ...] = (
    *("x", "", -1, 0, 1, 2, 0.5, 1e308, 10**400, math.nan, math.inf, True, False, None),
    *((), (0,), (1, 1), (-1.0, 2), ("x",), ((),)),
)


@pytest.mark.parametrize("name", PARTS)
def test_a_part_takes_a_value_or_says_in_a_sentence_why_not(name: str) -> None:
    for option in facts(name).options:
        for value in VALUES:
            options = {**dict(facts(name).defaults()), option.name: value}
            try:
                if slot_of(name) == "terms":
                    number(options.pop("weight", 1.0), "weight")
                instantiate(Part(name, tuple(options.items())), SHAPE, steps=3)
            except CsebError as error:
                assert "cannot be built" not in str(error), f"{name}: {option.name}={value!r}: {error}"


@pytest.mark.parametrize("name", PARTS)
def test_options_are_checked_when_a_method_is_resolved(name: str) -> None:
    for option in facts(name).options:
        edit = Edit("+", Part(name, ((option.name, ((("nested",),),)),)))
        with pytest.raises(BadSpec, match=rf"^{name}: {option.name} is "):
            replace(parse_method("simcse"), edits=(edit,)).at(1.0, steps=3)
