"""Print the output of commands, safe for a terminal; a full disk is one line."""

from __future__ import annotations

import io
import os
import shutil
import sys
import textwrap
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import typer

from cseb.text import shown


def say(text: str, *, err: bool = False, nl: bool = True) -> None:
    """Print text without control codes. Raises: OSError for standard output; a full standard error is ignored."""
    if not err:
        typer.echo(shown(text), nl=nl)
        return
    with suppress(OSError):
        typer.echo(shown(text), err=True, nl=nl)


def say_folded(text: str, *, err: bool = False) -> None:
    """Print a long text, wrapped between words on a terminal. Raises: OSError for standard output."""
    say(folded(text) if (sys.stderr if err else sys.stdout).isatty() else text, err=err)


def folded(text: str) -> str:
    """Wrap long lines to the width of the terminal, indented to where their last column starts."""
    width = shutil.get_terminal_size().columns
    return "\n".join(
        textwrap.fill(line, width, subsequent_indent=" " * _hang(line), break_long_words=False, break_on_hyphens=False)
        for line in text.splitlines()
    )


def _hang(line: str) -> int:
    """Return where the text of a list item, or of the last column, starts."""
    if line.lstrip().startswith("- "):
        return line.index("- ") + 2
    return len(line) - len(line.rsplit("  ", 1)[-1].lstrip()) if "  " in line else 0


def pour(lines: Iterable[str]) -> None:
    """Print sentences: unchanged into a file or a pipe, without control codes on a terminal. Raises: OSError."""
    text = "".join(f"{line}\n" for line in lines)
    if sys.stdout.isatty():
        say(text, nl=False)
    else:
        typer.echo(text.encode(), nl=False)


def write(text: str, out: Path | None) -> None:
    """Print text, or write it to a file, complete or not at all. Raises: BadResults."""
    if out is None or str(out) == "/dev/stdout":
        say(text, nl=False)
        return
    from cseb.data.files import write_beside

    write_beside(out, text.encode(errors="backslashreplace"))
    say(f"written to {out}")


def open_streams() -> None:
    """Prepare the standard streams: a closed one ignores output, characters outside its encoding are escaped."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115 (for the whole process)
        elif hasattr(stream, "reconfigure"):
            # With PYTHONUNBUFFERED, a write may be partial without an error.
            if name == "stdout" and isinstance(stream.buffer, io.RawIOBase):
                stream = sys.stdout = io.TextIOWrapper(io.BufferedWriter(stream.detach()), stream.encoding)
            stream.reconfigure(errors="backslashreplace")
