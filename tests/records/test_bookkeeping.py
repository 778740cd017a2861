"""What commands leave beside records is kept out of version control."""

from __future__ import annotations

from pathlib import Path

from cseb.records.bookkeeping import hide


def test_files_of_this_machine_are_ignored_and_records_are_not(tmp_path: Path) -> None:
    hide(tmp_path)
    lines = (tmp_path / ".gitignore").read_text("utf-8").splitlines()
    assert {"/plan-*.tsv", "/running/", "/slurm/"} <= set(lines)
    assert not [line for line in lines if line.startswith(("/runs", "/items", "/models"))]


def test_a_gitignore_of_the_user_stays(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("mine\n")
    hide(tmp_path)
    assert (tmp_path / ".gitignore").read_text() == "mine\n"
