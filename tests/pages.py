"""The pages README, CONTRIBUTING and docs: their blocks, their commands, and what these should print."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).parents[1]


PAGES = [
    path
    for path in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md")))
    if not {"_build", "api"} & set(path.relative_to(ROOT).parts)
]


LEFT_OUT = "..."


_FENCE = re.compile(r"(?P<marks>```+)(?P<language>[\w{}-]*) *(?P<file>\S*)")


_NAMED = re.compile(r"# (?P<file>[\w./-]+\.\w+)")


@dataclass(frozen=True)
class Block:
    """A fenced block. line: of its first line of content, counted from 0 in the page."""

    page: Path
    line: int
    language: str
    lines: tuple[str, ...]
    named: str = ""

    @cached_property
    def file(self) -> str:
        """The file that this block is, or ""."""
        result = _NAMED.fullmatch(self.lines[0]) if self.lines else None
        return self.named or (result["file"] if result else "")

    @cached_property
    def text(self) -> str:
        """What stands in it."""
        return "".join(f"{line}\n" for line in self.lines)


@dataclass(frozen=True)
class Command:
    """A line behind "$ " and what the page says it prints. line: of the first line of output, in the page."""

    text: str
    page: Path
    line: int
    printed: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}: {self.text}"

    @property
    def words(self) -> list[str]:
        """As a shell would split it."""
        return shlex.split(self.text)


def blocks(page: Path) -> list[Block]:
    """Every fenced block of a page, in order."""
    result, lines, start, opened = [], [], 0, None
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines()):
        if opened is None:
            if opened := _FENCE.fullmatch(line.strip()):
                start, lines = number + 1, []
        elif line.strip() == opened["marks"]:
            result.append(Block(page, start, opened["language"], tuple(lines), opened["file"]))
            opened = None
        else:
            lines.append(line)
    return result


def commands(block: Block) -> Iterator[Command]:
    """The commands of a console block."""
    text, start, printed = "", 0, []
    for number, line in enumerate((*block.lines, "$ ")):
        if line.startswith("$ "):
            if text:
                yield Command(text, block.page, block.line + start, tuple(trimmed(printed)))
            text, start, printed = line[2:], number + 1, []
        else:
            printed.append(line)


def trimmed(lines: list[str]) -> list[str]:
    """Without empty lines at the end."""
    while lines and not lines[-1]:
        lines = lines[:-1]
    return lines


def agrees(printed: tuple[str, ...], actual: list[str]) -> bool:
    """Whether the output is what a page shows, apart from what it leaves out."""
    pieces = _pieces(printed)
    if len(pieces) == 1:
        return list(printed) == actual
    place = 0
    for number, piece in enumerate(pieces):
        if number == len(pieces) - 1 and piece:
            return actual[-len(piece) :] == piece and len(actual) - len(piece) >= place
        starts = [at for at in range(place, len(actual) - len(piece) + 1) if actual[at : at + len(piece)] == piece]
        if not starts or (number == 0 and piece and starts[0] != 0):
            return False
        place = starts[0] + len(piece)
    return True


def renewed(printed: tuple[str, ...], actual: list[str]) -> list[str]:
    """What the page should show now: as many lines from each place as it shows today.

    A place is found by the first line of a piece that is still printed. Raises: AssertionError if none is.
    """
    pieces = _pieces(printed)
    if len(pieces) == 1:
        return actual
    out: list[str] = []
    place = 0
    for number, piece in enumerate(pieces):
        if number:
            out.append(LEFT_OUT)
        if number == 0 and piece:
            out += actual[: len(piece)]
            place = len(piece)
        elif number == len(pieces) - 1 and piece:
            out += actual[-len(piece) :]
        elif piece:
            anchored = [(actual.index(line, place), back) for back, line in enumerate(piece) if line in actual[place:]]
            assert anchored, f"nothing of this is printed any more: {piece}"
            start = anchored[0][0] - anchored[0][1]
            out += actual[start : start + len(piece)]
            place = start + len(piece)
    return out


def _pieces(printed: tuple[str, ...]) -> list[list[str]]:
    pieces: list[list[str]] = [[]]
    for line in printed:
        if line == LEFT_OUT:
            pieces.append([])
        else:
            pieces[-1].append(line)
    return pieces


def renew(differs: list[tuple[Command, list[str]]]) -> None:
    """Write into a page what its commands print now."""
    for command, actual in sorted(differs, key=lambda each: -each[0].line):
        lines = command.page.read_text(encoding="utf-8").splitlines()
        lines[command.line : command.line + len(command.printed)] = renewed(command.printed, actual)
        command.page.write_text("\n".join(lines) + "\n", encoding="utf-8")
