"""The command line: each command reads its arguments, calls a function, and prints the result.

Nothing heavy is imported before a command needs it: `--help`, `list` and `show` take a fraction of a second.
"""

from __future__ import annotations

import errno
import os
import re
import sys
from contextlib import suppress
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from cseb.commands import (
    check,
    compare,
    data,
    embed,
    evaluate,
    export,
    plot,
    recommend,
    report,
    run,
    show,
    status,
)
from cseb.commands.command_line import add
from cseb.commands.screen import open_streams, say, say_folded
from cseb.errors import CsebError
from cseb.text import HALVES, message
from cseb.version import __version__

NOT_WRITTEN, MISTAKE, INTERRUPTED = 1, 2, 130
NOT_WRITABLE = (errno.ENOSPC, errno.EPIPE, errno.EIO, errno.EFBIG, errno.EDQUOT)


class Commands(TyperGroup):
    """The commands; an error that a user can fix is one line, any other keeps its traceback."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was typed."""
        try:
            return super().invoke(ctx)
        except CsebError as error:
            say_folded(f"cseb: {error}", err=True)
            raise typer.Exit(MISTAKE) from None
        except KeyboardInterrupt:
            raise typer.Exit(INTERRUPTED) from None
        except (OSError, UnicodeEncodeError) as error:
            if not (refusal := _refused(error)):
                raise
            say(f"cseb: {message(refusal)}", err=True)
            raise typer.Exit(MISTAKE) from None


def _refused(error: OSError | UnicodeEncodeError) -> str:
    """Return a message for a file name that the system refuses; "" for any other error.

    Any path can be too long, a loop of links, in a folder without permission, or not valid text.
    """
    if isinstance(error, UnicodeEncodeError):
        return (
            f"{error.object!r} is not valid text: it contains an unpaired surrogate"
            if HALVES.search(error.object)
            else ""
        )
    return f"{error.filename}: {error.strerror}; name another" if error.filename is not None and error.strerror else ""


app = typer.Typer(cls=Commands, no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode=None)


def _version(wanted: bool) -> None:
    if wanted:
        say(f"cseb {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    _: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")] = False,
) -> None:
    """Compare training methods of sentence encoders with few sentences: which is best, by how much, how surely?"""


add(app, recommend.recommend, recommend.print_recommendation)
add(app, run.run, run.run_on_screen)
add(app, status.status)
add(app, report.report, report.print_tables)
add(app, plot.plot, plot.print_caption)
add(app, compare.compare, compare.print_comparison)
add(app, show.show, show.print_shown)
add(app, export.export, export.print_exported)
add(app, evaluate.evaluate, evaluate.print_scores, name="eval")
add(app, embed.embed, embed.print_embeddings)
add(app, check.check, check.print_checks)
app.add_typer(data.app, name="data")


def main() -> None:
    """Run the command that was typed. What a user can fix is one line and exit code 2, a full disk one line and 1."""
    open_streams()
    usage_error: Any = typer.BadParameter.__bases__[0]  # click's, or that of typer's own copy of click
    try:
        code = app(sys.argv[1:] or ["--help"], prog_name="cseb", standalone_mode=False)
        sys.stdout.flush()
    except usage_error as error:
        code = MISTAKE
        asked = error.ctx.command_path if error.ctx else "cseb"
        if type(error).__name__ == "NoArgsIsHelpError":  # a group without a command
            say(error.format_message(), err=True)
        else:
            summary = re.sub(r"[?.]$", "", message(error.format_message()))
            say(f"cseb: {summary[:1].lower()}{summary[1:]}; {asked} --help shows what there is", err=True)
    except typer.Abort:  # Ctrl-C before a command has begun
        code = INTERRUPTED
    except OSError as error:
        if error.errno not in NOT_WRITABLE:
            raise
        if error.errno != errno.EPIPE:  # a closed pipe needs no message
            say(f"cseb: standard output cannot be written: {error.strerror}", err=True)
        with suppress(OSError, ValueError):  # what is still buffered must not fail again when the process ends
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = NOT_WRITTEN
    sys.exit(code or 0)
