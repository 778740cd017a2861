"""The command line as a user types it, in this process."""

from __future__ import annotations

from functools import cache

from typer import testing

from cseb.commands.application import app

# The commands are built once: that takes 30 ms, and the tests type some thousand of them.
testing._get_command = cache(testing._get_command)


def call(*words: object, typed: str | None = None) -> testing.Result:
    """What `cseb WORDS` prints, and its exit code. typed: the standard input."""
    return testing.CliRunner().invoke(app, [str(word) for word in words], input=typed)
