"""Who hears how far a long piece of work is."""

import pytest

from cseb.progress import counted, heard, listening, reading, remark, tell, unheard

Said = list[tuple[str, int, int]]


def hear(into: Said):
    return lambda what, done, total: into.append((what, done, total))


def test_nobody_listens_unless_a_caller_says_so() -> None:
    tell("reading")
    assert list(counted(range(3), "counting")) == [0, 1, 2]
    assert heard() is None


def test_items_are_told_of_when_they_have_been_dealt_with() -> None:
    values: Said = []
    with listening(hear(values)):
        for place, _ in enumerate(counted("abc", "reading", 3)):
            assert values[-1] == ("reading", place, 3)
    assert values == [("reading", 0, 3), ("reading", 1, 3), ("reading", 2, 3), ("reading", 3, 3)]


def test_the_listener_inside_hears_what_is_told_there_and_the_outer_one_the_rest() -> None:
    outer: Said = []
    inner: Said = []
    with listening(hear(outer)):
        with pytest.raises(ValueError, match="ends"), listening(hear(inner)):
            tell("inside")
            raise ValueError("ends")
        tell("outside")
    assert (inner, outer) == ([("inside", 0, 0)], [("outside", 0, 0)])


def test_what_others_show_is_told_to_nobody_and_its_beginning_is() -> None:
    values: Said = []
    with listening(hear(values)):
        with unheard():
            tell("a job")
        tell("after it")
    assert values == [("", 0, 0), ("after it", 0, 0)]


def test_a_remark_reaches_its_reader_after_the_display_is_hidden() -> None:
    values: list[object] = []
    remark("to nobody")
    with listening(lambda *each: values.append(each)), reading(values.append):
        remark("a plan")
    assert values == [("", 0, 0), "a plan"]
