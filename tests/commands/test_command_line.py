"""What every command refuses on its line, whatever it does."""

import pytest
from typer.main import get_command

from cseb.commands.application import app
from cseb.commands.command_line import Command
from tests.command_line import call


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "--methods", "", "--dry-run"], "--methods is empty; give a value, or leave it out"),
        (["run", "--methods=", "--dry-run"], "--methods is empty; give a value, or leave it out"),
        (["report", "--out", ""], "--out is empty; give a value, or leave it out"),
        (["report", ""], "results is empty; give a value, or leave it out"),
        (["show", ""], "name is empty; give a value"),
        (["data", "list", "stsb", ""], "names is empty; give a value, or leave it out"),
        (["data", "check", "--data-dir", ""], "--data-dir is empty; give a value, or leave it out"),
    ],
)
def test_an_empty_option_is_not_taken_as_none(arguments: list[str], said: str) -> None:
    found = call(*arguments)
    assert (found.exit_code, found.stderr) == (2, f"cseb: {said}\n")


def test_every_command_refuses_it() -> None:
    group = get_command(app)
    commands = [*group.commands.values(), *group.commands["data"].commands.values()]  # type: ignore[attr-defined]
    assert len(commands) > 15
    assert {one.name for one in commands if not isinstance(one, Command)} == {"data"}
