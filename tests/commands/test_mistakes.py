"""Mistakes on the command line: one line, exit code 2, never a traceback."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.command_line import call, refused
from tests.world import WORLD

ONE_SIZE = "give one number of sentences, such as 100, or a fraction of the corpus in (0, 1], such as 0.01"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "dmo"], "did you mean demo"),
        (["run", "--methods", "simcs"], "did you mean simcse"),
        (["run", "--methods", "simcse+ami(wieght=1)"], "did you mean weight"),
        (["run", WORLD, "--fractions", "1.5"], "fractions in (0, 1]"),
        (["run", "--fractions", "0.1", "--sizes", "5"], "choose one"),
        (["run", "--workers", "two"], "--workers is 'two'"),
        (["run", "--seeds", "abc"], "--seeds is 'abc'; a whole number is needed"),
        (["compare", "--margin", "abc"], "--margin is 'abc'; a number is needed"),
        (["run", "--device", "tpu"], "'auto', 'cpu', 'cuda'"),
        (["run", "--processes", "8", "--launcher", "slurm", "--dry-run"], "sbatch --gpus=8 --wrap 'cseb run"),
        (["run", "--processes", "8", "--launcher", "ray", "--dry-run"], "job submit --entrypoint-num-gpus=8 -- cseb"),
        (["run", "--device", "cuda"], "--device cuda: torch finds no GPU here; take --device cpu"),
        (["run", "--encoder", "/nowhere", "--corpus", "x.txt", "--device", "cpu"], "x.txt"),
        (["show", "micsee"], "did you mean micse"),
        (["show", "method"], "did you mean"),
        (["report", "/nowhere"], "/nowhere"),
        (["report", "--format", "word"], "'latex'"),
        (["report", "--checkpoint", "first"], "'last'"),
        (["data", "sample", "wikipedia"], f"--size is missing; {ONE_SIZE}"),
        (["data", "sample", "wikipedia", "--size", "abc"], f"--size is 'abc'; {ONE_SIZE}"),
        (["data", "sample", "wikipedia", "--size", "100,200"], f"--size is '100,200'; {ONE_SIZE}"),
        (["check", "nowhere.yaml"], "no such file"),
    ],
)
def test_a_mistake_is_one_line_on_stderr_and_2(arguments: list[str], words: str) -> None:
    assert words in refused(*arguments)


@pytest.mark.parametrize(
    "option",
    [("--workers", "two"), ("--linear", "x"), ("--launcher", "x"), ("--launcher", "slurm:x")],
)
def test_a_wrong_option_is_refused_before_planning(option: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    def plan(*_: object, **__: object) -> None:
        raise AssertionError

    monkeypatch.setattr("cseb.experiment.plan.plan", plan)
    assert option[1].rpartition(":")[2] in refused("run", *option, "--device", "cpu")


@pytest.mark.parametrize(
    "command", [["run", WORLD, "--methods", "cls", "--dry-run", "--results"], ["status"], ["report"]]
)
def test_a_folder_that_cannot_be_looked_into_is_one_line(command: list[str]) -> None:
    assert "File name too long" in refused(*command, "r" * 300)


WORDS = st.sampled_from(
    ["simcse", "+", "-ami", "(", ")", "steps=", "0", "1e9", ",", "'", "None", "é", " ", "\n", "[b]", "~x/"]
)


@settings(max_examples=60)
@given(words=st.lists(WORDS, max_size=6), option=st.sampled_from(["--methods", "--fractions", "--tasks", "--corpus"]))
def test_no_option_gives_a_traceback(words: list[str], option: str, tmp_path: Path) -> None:
    result = call("run", WORLD, "--dry-run", "--device", "cpu", "--encoder", tmp_path, option, "".join(words) or "x")
    assert result.exit_code in (0, 2)
    assert result.exception is None or isinstance(result.exception, SystemExit)
