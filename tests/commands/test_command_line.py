"""What every command refuses on its line, whatever it does."""

import os
import subprocess
import sys

import pytest
from platformdirs import user_cache_path
from typer.main import get_command

from cseb.__main__ import _set_compiler_folder
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
    result = call(*arguments)
    assert (result.exit_code, result.stderr) == (2, f"cseb: {said}\n")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["rn"], "no such command 'rn'. Did you mean 'run'; cseb --help shows what there is"),
        (["data", "foo"], "no such command 'foo'; cseb data --help shows what there is"),
        (["show", "snli"], "'snli' is one of the tasks; cseb show tasks describes them"),
        (["show", "cseb-tiny"], "'cseb-tiny' is one of the encoders; cseb show encoders describes them"),
    ],
)
def test_a_wrong_name_is_answered_with_the_command_that_helps(arguments: list[str], said: str) -> None:
    result = subprocess.run([sys.executable, "-m", "cseb", *arguments], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (2, f"cseb: {said}\n")


def test_a_group_without_a_command_prints_its_help() -> None:
    result = subprocess.run([sys.executable, "-m", "cseb", "data"], capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert result.stderr.startswith("Usage: cseb data [OPTIONS] COMMAND") and "\n  overlap " in result.stderr


def test_every_command_refuses_it() -> None:
    group = get_command(app)
    commands = [*group.commands.values(), *group.commands["data"].commands.values()]
    assert len(commands) > 15
    assert {each.name for each in commands if not isinstance(each, Command)} == {"data"}


@pytest.mark.parametrize("writable", [True, False])
def test_compiled_functions_have_a_folder_that_remains(writable: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Torch makes the folder when it is loaded, so it is only named where it can be made."""
    monkeypatch.setattr(os, "environ", dict(os.environ))
    os.environ.pop("TORCHINDUCTOR_CACHE_DIR", None)
    monkeypatch.setattr(os, "access", lambda *_: writable)
    _set_compiler_folder()
    assert os.environ.get("TORCHINDUCTOR_CACHE_DIR", "") == (
        str(user_cache_path("cseb") / "torchinductor") if writable else ""
    )
