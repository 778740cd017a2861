import pytest

from cseb.errors import BadResults
from cseb.regression.comparison import CheckResult, compare
from tests.factory import record


def of(checks: list[CheckResult], select: str = "best") -> CheckResult:
    (check,) = [check for check in checks if check.cell.endswith(select)]
    return check


def test_equal_records_are_ok_cell_by_cell() -> None:
    records = [record(seed=seed, size=size) for seed in range(3) for size in (100, 1000)]
    checks = compare(records, records, 0)
    assert len(checks) == 12
    assert all(check.ok and not check.moved for check in checks)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(("shift", "ok"), [(0.0, True), (0.5, True), (0.51, False), (5.0, False)])
def test_a_shift_counts_in_both_directions(sign: int, shift: float, ok: bool) -> None:
    fresh = record(values=[value + sign * shift for value in (50.3, 60.3, 70.3)], last=(50.3, 60.3, 70.3))
    checks = compare([fresh], [record(values=(50.3, 60.3, 70.3))], 0.5)
    assert of(checks).ok is ok
    assert (f"moved by {sign * shift:+.4g}" in of(checks).text) == bool(shift)
    assert of(checks, "last").ok


def test_exactly_as_much_as_allowed_is_allowed() -> None:
    assert 60.4 - 60.3 > 0.1  # in binary
    assert of(compare([record(values=(60.4,) * 3)], [record(values=(60.3,) * 3)], 0.1)).ok


def test_the_task_that_moved_most_is_named() -> None:
    check = of(compare([record(values=(51.0, 58.0, 70.5))], [record()], 0.5))
    assert check.text.endswith("; most: sts13@1 -2")
    assert check.ok  # the average moved by 0.17


def test_what_a_check_says() -> None:
    fresh = record(values=(50.03, 60.0, 70.0), last=(51.5, 61.0, 70.5))
    first, second = compare([fresh], [record()], 0.5)
    assert (first.question, first.cell, first.ok, first.moved) == ("drift", "simcse 0.1 % seed 0 best", True, True)
    assert first.text == "60.01, expected 60.00, moved by +0.01, allowed ±0.5; most: sts12@1 +0.03"
    assert (second.ok, second.moved) == (False, True)
    assert second.text == "61.00, expected 60.00, moved by +1, allowed ±0.5; most: sts12@1 +1.5"
    same, _ = compare([record()], [record()], 0.5)
    assert (same.ok, same.moved) == (True, False)


def test_what_is_missing_extra_failed_or_collapsed_is_not_ok() -> None:
    good, failed, collapsed = record(), record(failed="out of memory"), record(values=(50.0, None, 70.0))
    for fresh, expected, reason in (
        ([], [good], "no record"),
        ([good], [], "not expected"),
        ([failed], [good], "failed: out of memory"),
        ([collapsed], [good], "collapsed"),
        ([good], [failed], "the expectation itself is failed"),
        ([good], [collapsed], "the expectation itself is collapsed"),
        ([failed], [failed], "failed: out of memory"),
        ([record(values=(50.0, 60.0))], [good], "missing"),
        ([record(tasks=("sts12@1",))], [good], "tasks are sts12@1, expected sts12@1, sts13@1, sickr@1"),
        ([record(tasks=("sts12@2", "sts13@1", "sickr@1"))], [good], "tasks are sts12@2"),
    ):
        checks = compare(fresh, expected, 100)
        assert checks
        bad = [check for check in checks if not check.ok]
        assert any(check.text.startswith(reason) for check in bad), reason


def test_another_encoder_is_said_to_be_one() -> None:
    checks = compare([record(encoder="new")], [record(encoder="old")], 100)
    assert not any(check.ok for check in checks)
    assert all(check.text.startswith("made with") and "old@" in check.text for check in checks)


def test_two_records_for_one_cell_are_refused() -> None:
    with pytest.raises(BadResults, match="has two records"):
        compare([record(), record(resolved="cls()@1")], [], 0.5)
