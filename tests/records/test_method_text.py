"""The text of a resolved method reads back whatever its options hold; what asks a record asks one reader."""

import ast
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cseb.analysis.comparable import stale
from cseb.commands.provenance import story
from cseb.errors import BadResults
from cseb.methods.spec import Option, Part
from cseb.records.method_text import PartDifference, Stated, part_differences, read_method
from cseb.records.store import Store
from cseb.reports.layouts import options
from tests.factory import record

ROOT = Path(__file__).parents[2]
NAMES = st.sampled_from(("ami", "cls", "queue", "recipe", "dropout", "x1"))
NASTY = st.text(alphabet="\\'\"()[]{},=@ 1a\t\nß†#|", max_size=12)
WORDS = st.one_of(NASTY, st.text(st.characters(exclude_categories=("Cs",)), max_size=8))
SINGLE = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**62), 2**62), st.floats(allow_nan=False, allow_infinity=False), WORDS
)
VALUES = st.recursive(SINGLE, lambda each: st.lists(each, max_size=3).map(tuple), max_leaves=5)
PARTS = st.builds(
    Stated,
    st.builds(Part, NAMES, st.dictionaries(st.from_regex(r"[a-d]{1,2}_", fullmatch=True), VALUES, max_size=3).map(
        lambda each: tuple(each.items())
    )),
    st.integers(1, 99),
)  # fmt: skip


def written(parts: list[Stated]) -> str:
    return " ".join(map(str, parts))


def only(value: Option) -> list[Stated]:
    return [Stated(Part("ami", (("mask", value),)), 1), Stated(Part("cls"), 2)]


@given(st.lists(PARTS, max_size=4))
@example(only("ends in \\"))
@example(only("\\'"))
@example(only("a) @1 b("))
@example(only((7, 8)))
@example(only((7,)))
@example(only(("a, b", ("(",))))
def test_what_is_written_reads_back(parts: list[Stated]) -> None:
    text = written(parts)
    assert list(map(str, read_method(text))) == list(map(str, parts))
    assert [stated.part for stated in read_method(text)] == [stated.part for stated in parts]
    assert all(ast.parse(f"f({stated.shown()})") for stated in read_method(text))


@given(st.lists(PARTS, min_size=1, max_size=3, unique_by=lambda each: each.part.name))
def test_every_reader_sees_the_same_parts(parts: list[Stated]) -> None:
    text = written(parts)
    run = record(resolved=text)
    versions = {stated.part.name: stated.version for stated in parts}
    assert stale(run, versions) == ""
    assert stale(run, versions | {parts[-1].part.name: 100}).startswith("made with ")
    rows = dict(story(run, Store(Path("results"))))["method"]
    assert rows == [(stated.named, stated.shown()) for stated in parts]
    assert options(read_method(text)) == {stated.part.name: str(stated.version) for stated in parts} | {
        f"{stated.part.name}.{name}": value for stated in parts for name, value in stated.part.options
    }


@given(st.lists(PARTS, max_size=3), st.lists(PARTS, max_size=3))
def test_two_texts_differ_where_they_differ(a: list[Stated], b: list[Stated]) -> None:
    assert not list(part_differences(a, a))
    if sorted(map(str, a)) != sorted(map(str, b)):
        assert list(part_differences(a, b))


@given(st.text(alphabet="ab1 ()[]'\"\\@,=", max_size=20))
def test_a_text_that_is_no_method_is_one_line(text: str) -> None:
    """Either it reads back as it stands, or one line says where it cannot be read; never a guess."""
    try:
        result = read_method(text)
    except BadResults as error:
        assert "\n" not in str(error)
    else:
        assert [each.part.name for each in result] == [each.part.name for each in read_method(written(list(result)))]


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("p(a=1)", "p(a=1)"),
        ("q()@1 p(a=1)@x", "p(a=1)@x"),
        ("p(a=1)@²", "p(a=1)@²"),
        ("@1", "@1"),
        ("p)@1 queue()@1", "p)@1 queue()@1"),
        ("(" * 10_000 + "'" * 10_001, "(" * 57 + "..."),
    ],
)
def test_where_a_text_is_no_method_is_named(text: str, start: str) -> None:
    with pytest.raises(BadResults) as error:
        read_method(text)
    assert str(error.value) == f"the method cannot be read at {start!r}; it is written name(option=value)@version"


@pytest.mark.parametrize(
    ("a", "b", "differences"),
    [
        ("ami(layers=(7, 8))@1", "ami(layers=(7, 9))@1", [PartDifference("ami@1", "layers=(7, 8)", "layers=(7, 9)")]),
        ("ami(a='x, y', b=1)@1", "ami(a='x, z', b=1)@1", [PartDifference("ami@1", "a='x, y'", "a='x, z'")]),
        ("ami(a='\\\\', b=2)@1", "ami(a='\\\\', b=3)@1", [PartDifference("ami@1", "b=2", "b=3")]),
        ("ami(a=1)@1", "ami(a=1)@2", [PartDifference("ami", "version 1", "version 2")]),
        ("ami(a=1)@1", "ami(a=2)@2", [PartDifference("ami", "version 1, a=1", "version 2, a=2")]),
        ("ami(a=1)@1", "ami(a=1.0)@1", [PartDifference("ami@1", "a=1", "a=1.0")]),
        ("ami(a=1)@1 cls()@1", "cls()@1", [PartDifference("ami@1", "a=1", "absent")]),
        ("cls()@1", "ami(a=1)@1 cls()@1", [PartDifference("ami@1", "absent", "a=1")]),
        ("ami(a=1)@1 ami(a=2)@1", "ami(a=1)@1 ami(a=3)@1", [PartDifference("ami@1", "a=2", "a=3")]),
    ],
)
def test_differences_are_whole_options(a: str, b: str, differences: list[PartDifference]) -> None:
    assert list(part_differences(read_method(a), read_method(b))) == differences
