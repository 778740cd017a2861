"""Tests write nowhere but in their temporary folders: what a run of them leaves elsewhere fails it, named."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from platformdirs import user_config_path, user_data_path

ROOT = Path(__file__).parents[1]
# What Python, git and the tools of `make check` write beside what they read.
SKIPPED = {".git", ".venv", "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".import_linter_cache", ".hypothesis", "build", "dist"}  # fmt: skip  # noqa: E501
KEPT = ("results", "benchmarks")  # a test has no business changing these; other files may be edited while it runs

State = Mapping[Path, tuple[int, int]]  # time and size of each file


def standing(*folders: Path) -> State:
    """Every file in these folders, but for what tools keep there."""
    return {path: (each.st_mtime_ns, each.st_size) for folder in folders for path, each in _files(folder)}


def left(before: State, after: State, root: Path = ROOT) -> list[str]:
    """What has come, gone, or changed where nothing may change, one line each."""
    kept = [root / name for name in KEPT]
    lines = [f"new: {path}" for path in after if path not in before]
    lines += [f"gone: {path}" for path in before if path not in after and any(map(path.is_relative_to, kept))]
    changed = [path for path in after if path in before and after[path] != before[path]]
    return sorted([*lines, *(f"changed: {path}" for path in changed if any(map(path.is_relative_to, kept)))])


def _files(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    for each, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in SKIPPED and not name.endswith(".egg-info")]
        for name in names:
            if name.startswith(".coverage"):
                continue
            path = Path(each, name)
            try:
                yield path, path.lstat()
            except FileNotFoundError:  # gone meanwhile
                continue


class Leavings:
    """The plug-in of pytest; with xdist in the process that hands out the tests, after all others have ended."""

    def __init__(self) -> None:
        self.folders: tuple[Path, ...] = ()
        self.before: State = {}
        self.lines: list[str] = []

    def pytest_sessionstart(self) -> None:
        """List the files before the tests.

        Configuration and data folders are those of the tests (see conftest.py), not of the user, who may use cseb
        meanwhile.
        """
        self.folders = (ROOT, user_config_path("cseb"), user_data_path("cseb"))
        self.before = standing(*self.folders)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Fail the run that has left something."""
        self.lines = left(self.before, standing(*self.folders))
        if self.lines and session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Name it."""
        if self.lines:
            terminalreporter.section("written outside of temporary folders", red=True)
            terminalreporter.write_line("\n".join(self.lines))
