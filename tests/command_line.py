"""The command line as a user types it, in this process."""

from functools import cache

from typer import testing

from cseb.commands.application import app
from tests.stderr_lines import without_progress

# The commands are built once: that takes 30 ms, and the tests type some thousand of them.
testing._get_command = cache(testing._get_command)


def call(*words: object, typed: str | None = None) -> testing.Result:
    """What `cseb WORDS` prints, and its exit code. typed: the standard input."""
    return testing.CliRunner().invoke(app, [str(word) for word in words], input=typed)


def printed(*words: object) -> str:
    """What a command prints that does its work."""
    result = call(*words)
    assert result.exit_code == 0, result.output
    return result.stdout


def refused(*words: object) -> str:
    """The line with which a command refuses what is typed."""
    result = call(*words)
    assert (result.exit_code, result.stdout) == (2, ""), result.output
    (line,) = without_progress(result.stderr)
    assert line.startswith("cseb: ")
    return line
