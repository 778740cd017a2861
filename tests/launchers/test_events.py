"""The summary of a grid: what is counted, and the exit code it gives."""

import pytest

from cseb.launchers.job_runner import Broken, Started, Summary


def test_events_are_counted() -> None:
    summary = Summary(3)
    for event in (Started("a"), Broken("a", "user", "x"), Broken("b", "bug", "y"), Broken("c", "died", "z")):
        summary = summary.after(event)
    assert (summary.done, summary.failed, summary.refused) == (0, 2, 1)


@pytest.mark.parametrize(
    ("summary", "code"),
    [
        (Summary(1, done=1), 0),
        (Summary(2, done=1, failed=1), 1),
        (Summary(2, done=1, refused=1), 2),
        (Summary(3, failed=1, refused=1), 2),
        (Summary(2, done=1, stopped=True), 130),
    ],
)
def test_exit_codes(summary: Summary, code: int) -> None:
    assert summary.exit_code == code
