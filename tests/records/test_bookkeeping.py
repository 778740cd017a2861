"""What commands leave beside records is kept out of version control, and says whose folder it is."""

from __future__ import annotations

from pathlib import Path

from cseb.records.bookkeeping import LOOKS, hide, is_own


def test_files_of_this_machine_are_ignored_and_records_are_not(tmp_path: Path) -> None:
    hide(tmp_path)
    lines = (tmp_path / ".gitignore").read_text("utf-8").splitlines()
    assert {f"/{LOOKS}", "/plan-*.tsv", "/running/"} <= set(lines)
    assert not [line for line in lines if line.startswith(("/runs", "/items", "/models"))]


def test_a_gitignore_of_the_user_stays(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("mine\n")
    hide(tmp_path)
    assert (tmp_path / ".gitignore").read_text() == "mine\n"


def test_a_folder_is_own_once_a_grid_was_planned_into_it(tmp_path: Path) -> None:
    assert not is_own(tmp_path)
    assert not is_own(tmp_path / "none")
    (tmp_path / "plan-microworld.tsv").touch()
    assert is_own(tmp_path)
