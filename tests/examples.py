"""The examples of README, CONTRIBUTING and docs: read from the pages, run as they are printed, renewed on request.

A block of `console` holds commands behind "$ " and what they print; "..." on a line of its own stands for lines left
out. A command whose output is shown is run as it is; `cseb run` without output is planned, not trained. A block whose
first line is "# some/file.py", or whose language is followed by a file name, is that file. `diff` changes a file that
is there. `pycon` is a doctest. `pip install --editable .` builds the wheel of the page's package. What other programs
do (make, git) is not tried.
"""

import doctest
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from contextlib import chdir
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from tests.command_line import call
from tests.forked import forked
from tests.pages import ROOT, Block, Command, agrees, blocks, commands, trimmed

TRIED = ("cseb", "python", "pytest")


@dataclass
class Desk:
    """A folder in which the examples of one page are tried, in order. differs: what the page should show instead."""

    folder: Path
    page: Path
    differs: list[tuple[Command, list[str]]] = field(default_factory=list)
    names: dict[str, object] = field(default_factory=dict)

    @cached_property
    def blocks_of_page(self) -> list[Block]:
        """The blocks of the page."""
        return blocks(self.page)

    @cached_property
    def inside(self) -> bool:
        """Whether the page changes cseb itself: then it is tried on a copy."""
        return any(block.file.startswith(("cseb/", "tests/")) for block in self.blocks_of_page)

    @cached_property
    def quick(self) -> bool:
        """Whether nothing of the page has to be imported: then commands need no process of their own."""
        return not any(block.file.endswith(".py") for block in self.blocks_of_page)

    def try_all(self) -> None:
        """Every block. Raises: AssertionError with the place in the page."""
        if self.inside:
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / "cseb", self.folder / "cseb", ignore=ignored, dirs_exist_ok=True)
            (self.folder / "benchmarks").symlink_to(ROOT / "benchmarks")
        for block in self.blocks_of_page:
            if block.language == "diff":
                self._change(block)
            elif block.file:
                self._write(block)
            elif block.language == "console":
                for command in commands(block):
                    self._run(command)
            elif block.language == "pycon":
                self._doctest(block)
            elif block.language == "python":
                with chdir(self.folder):
                    exec(compile(block.text, f"{block.page}:{block.line}", "exec"), self.names)

    def _write(self, block: Block) -> None:
        path = self.folder / block.file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.text, encoding="utf-8")

    def _install(self) -> None:
        """What `pip install --editable .` leaves behind: the package's names, out of a wheel that is built here."""
        from hatchling.builders.wheel import WheelBuilder

        for old in self.folder.glob("*.dist-info"):
            shutil.rmtree(old)
        (built,) = WheelBuilder(str(self.folder)).build(directory=str(self.folder / "dist"))
        with zipfile.ZipFile(built) as wheel:
            info = [name for name in wheel.namelist() if ".dist-info/" in name]
            modules = {name.removesuffix(".py").replace("/", ".") for name in wheel.namelist()}
            wheel.extractall(self.folder, info)
        points = tomllib.loads((self.folder / "pyproject.toml").read_text("utf-8"))["project"]["entry-points"]
        named = {target.partition(":")[0] for group in points.values() for target in group.values()}
        assert named <= modules, f"{self.page}: {named - modules} are not in the wheel"

    def _change(self, block: Block) -> None:
        """Apply a diff of one place: what it takes away and what it keeps must stand there, once."""
        path = self.folder / block.file
        body = block.lines[1:]
        old = "".join(f"{line[1:]}\n" for line in body if line[:1] in (" ", "-"))
        new = "".join(f"{line[1:]}\n" for line in body if line[:1] in (" ", "+"))
        text = path.read_text(encoding="utf-8")
        assert text.count(old) == 1, f"{block.page}:{block.line}: {text.count(old)} places of {block.file} fit"
        path.write_text(text.replace(old, new), encoding="utf-8")

    def _doctest(self, block: Block) -> None:
        test = doctest.DocTestParser().get_doctest(block.text, self.names, block.page.name, str(block.page), 0)
        results: list[tuple[doctest.Example, str]] = []

        class Runner(doctest.DocTestRunner):
            """Keeps what is printed in place of what a page shows."""

            def report_failure(self, out: object, test: object, example: doctest.Example, got: str) -> None:
                results.append((example, got))

            def report_unexpected_exception(
                self, out: object, test: object, example: doctest.Example, info: Any
            ) -> None:
                results.append((example, f"{info[0].__name__}: {info[1]}\n"))

        with chdir(self.folder):
            Runner(optionflags=doctest.ELLIPSIS).run(test, out=lambda _: None, clear_globs=False)
        self.names = test.globs
        for example, got in results:
            line = block.line + example.lineno + len(example.source.splitlines())
            shown = Command(example.source.strip(), block.page, line, tuple(example.want.splitlines()))
            self.differs.append((shown, got.splitlines()))

    def _run(self, command: Command) -> None:
        words = command.words
        if words[:3] == ["pip", "install", "--editable"]:
            self._install()
        if words[0] not in TRIED:
            return
        if words[:2] == ["cseb", "check"]:  # CI runs it; here it is enough that it has something to compare with
            from cseb.experiment import benchmark

            loaded = benchmark.load(words[2])
            assert list((benchmark.expected(words[2], loaded.name) / "runs").glob("*.json")), command
            return
        if words[:2] == ["cseb", "run"] and not command.printed and "--dry-run" not in words:
            words.append("--dry-run")
        mistake = bool(command.printed) and command.printed[0].startswith("cseb: ")
        code, result, complained = self._called(words)
        assert code == (2 if mistake else 0), f"{command}\n{result}{complained}"
        if not mistake and words[0] == "cseb":
            assert result.strip(), f"{command} prints nothing"
            assert not re.search("Warning|Traceback", complained), f"{command}\n{complained}"
        actual = trimmed([line.rstrip() for line in (complained + result).splitlines()])  # what is said first
        if command.printed and not agrees(command.printed, actual):
            self.differs.append((command, actual))

    def _called(self, words: list[str]) -> tuple[int, str, str]:
        if words[0] == "cseb" and self.quick:
            with chdir(self.folder):
                result = call(*words[1:])
            if result.exception is not None and not isinstance(result.exception, SystemExit):
                raise result.exception
            return result.exit_code, result.stdout, result.stderr
        if words[0] in ("cseb", "pytest"):
            ran = forked(words, self.folder, [self.folder])
            return ran.returncode, ran.stdout, ran.stderr
        environment = {**os.environ, "PYTHONPATH": str(self.folder), "COLUMNS": "80"}
        done = subprocess.run(
            [sys.executable, *words[1:]], cwd=self.folder, env=environment, capture_output=True, text=True, check=False
        )
        return done.returncode, done.stdout, done.stderr
