"""`cseb report` prints every results folder of this repository."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command_line import call

RESULTS = Path(__file__).parents[2] / "results"
FOLDERS = sorted({str(path.parent.relative_to(RESULTS)) for path in RESULTS.rglob("records*.zip*")})


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_results_folder_is_reported(folder: str) -> None:
    result = call("report", RESULTS / folder, "--format", "csv")
    assert result.exit_code == 0, result.stderr
    assert len(result.stdout.splitlines()) > 2
