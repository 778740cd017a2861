"""The command line: each command reads its arguments, calls what does the work, and prints what comes back.

Nothing heavy is imported before a command needs it: `--help`, `list` and `show` take a fraction of a second.
"""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import cseb
from cseb.cli import audit, check, compare, data, explain, grid, look
from cseb.cli.plot import plot
from cseb.cli.report import report
from cseb.cli.status import status
from cseb.errors import CsebError

MISTAKE, INTERRUPTED = 2, 130


class Commands(TyperGroup):
    """Answers what a user can mend with one line; anything else is our bug and keeps its traceback."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was typed."""
        try:
            return super().invoke(ctx)
        except CsebError as error:
            typer.echo(f"cseb: {error}", err=True)
            raise typer.Exit(MISTAKE) from None
        except KeyboardInterrupt:
            raise typer.Exit(INTERRUPTED) from None


app = typer.Typer(cls=Commands, no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode=None)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"cseb {cseb.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    _: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")] = False,
) -> None:
    """Which training method gives the best sentence encoder from few sentences, by how much, and is it real?"""


app.command()(grid.run)
app.command()(status)
app.command()(report)
app.command()(plot)
app.command()(compare.compare)
app.command(name="list")(look.list_)
app.command()(look.show)
app.command()(look.sample)
app.command(name="eval")(look.evaluate)
app.command()(check.check)
app.command()(audit.audit)
app.command()(explain.diff)
app.command()(explain.verify)
app.command()(explain.rerun)
app.add_typer(data.app, name="data")


def main() -> None:
    """The command that was typed: whatever a user can mend is one line and exit code 2."""
    usage_error: Any = typer.BadParameter.__bases__[0]  # click's, or that of typer's own copy of click
    try:
        code = app(sys.argv[1:] or ["--help"], prog_name="cseb", standalone_mode=False)
    except usage_error as error:
        message = error.format_message().rstrip(".")
        typer.echo(f"cseb: {message[:1].lower()}{message[1:]}; cseb COMMAND --help shows what there is", err=True)
        code = MISTAKE
    except typer.Abort:  # Ctrl-C before a command has begun
        code = INTERRUPTED
    sys.exit(code or 0)
