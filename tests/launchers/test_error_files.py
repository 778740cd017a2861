"""Why a job ended without a record is kept until it is started again."""

from pathlib import Path

import pytest

from cseb.launchers.claims import folder_of, note, reasons
from cseb.launchers.job_runner import Broken, Started

KEY = "0123456789abcdef"


@pytest.fixture
def results(tmp_path: Path) -> Path:
    folder_of(tmp_path).mkdir(parents=True)
    return tmp_path


def test_a_reason_is_kept(results: Path) -> None:
    note(results, Broken(KEY, "died", "out of memory\x1b[31m"))
    assert list(reasons(results)) == [KEY]
    assert reasons(results)[KEY].startswith("out of memory")
    assert "\x1b" not in reasons(results)[KEY]


def test_a_job_that_is_started_again_has_no_reason(results: Path) -> None:
    note(results, Broken(KEY, "died", "killed"))
    note(results, Started(KEY))
    assert reasons(results) == {}


def test_a_folder_that_is_not_there_has_none(tmp_path: Path) -> None:
    assert reasons(tmp_path / "none") == {}
