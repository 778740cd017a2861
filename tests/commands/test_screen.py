"""What commands print and write: no code of others reaches a terminal, no device is replaced, a full disk is a line."""

import csv
import io
import json
import os
import pty
import re
import stat
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from cseb.errors import BadData
from cseb.text import csv_row, message, plain, shown
from tests.factory import record, stored
from tests.forked import TOGETHER, forked
from tests.stderr_lines import without_progress

pytestmark = TOGETHER
ROOT = Path(__file__).parents[2]
HOSTILE = "\x1b[31m\x1b]0;owned\x07red\u202egnp.exe\x9b2J"
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "cseb", *map(str, arguments)]


def called(*arguments: object, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(*arguments), cwd=ROOT, text=True, check=False, timeout=120, **options)


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A folder of records whose every name comes from a stranger."""
    folder = tmp_path / "results"
    store = stored(folder)
    for seed in range(2):
        run = record(seed=seed)
        changes = {
            "method": f"=cmd|' /C calc'!A0{HOSTILE}",
            "corpus": replace(run.corpus, name=f"@corpus{HOSTILE}"),
            "encoder": replace(run.encoder, name=f"[red]encoder[/red]{HOSTILE}"),
            "origin": replace(run.origin, machine=f"host{HOSTILE}"),
        }
        store.write(run.model_copy(update=changes), {})
    running = folder / "running"
    running.mkdir()
    key = "0123456789abcdef"
    beat = {"key": key, "method": f"m{HOSTILE}", "fraction": 0.1, "seed": 0, "host": HOSTILE, "started": 1.0}
    ended = {"pid": 2**22 + 1, "process_start": 1}
    (running / f"{key}.json").write_text(json.dumps(beat | ended))
    os.utime(running / f"{key}.json", (0, 0))
    return folder


def test_a_line_is_plain_whatever_it_was() -> None:
    assert not OBEYED.search(plain(HOSTILE))
    assert len(plain("word " * 1000)) == 200
    assert plain("a\udcff") == "a\\udcff"
    assert shown("a\tb\nc\x1b[0m\u202e\udcff\r\n") == "a\tb\nc\\x1b[0m\\u202e\\udcff\n"
    assert shown("ä 漢字 \u200c ∑") == "ä 漢字 \u200c ∑"  # what Persian needs is no code


def test_a_message_repeats_a_line_of_what_was_given() -> None:
    for given in ("x" * 10_000, "two words " * 1000, "it's " * 1000, HOSTILE * 1000):
        said = str(BadData(f"--option is {given!r}; something else is needed"))
        assert len(said) < 300, said
        assert said.endswith("; something else is needed")
        assert not OBEYED.search(said)
        assert len(message(f"{given} is no name")) <= 2010
    names = ", ".join(f"name-{number}" for number in range(150))
    assert message(f"no such name; known: {names}").endswith("name-149")  # lists of ours stay whole


def test_a_spreadsheet_computes_nothing_of_others() -> None:
    row = {"a": "=1+1", "b": "+x", "c": "-x", "d": "@x", "e": "\tx", "f": "-1.5", "g": -1.5, "h": "+3e-2", "i": None}
    assert csv_row(row) == row | {"a": "'=1+1", "b": "'+x", "c": "'-x", "d": "'@x", "e": "'\tx"}
    assert csv_row({"a": "\r=1"})["a"] == "\\x0d=1"


def test_lists_of_numbers_are_left_as_they_are() -> None:
    row = {"a": "-0.27 -1.5e-3 +2", "b": "-1"}
    assert csv_row(row) == row
    for text in ("-1 -A1", "-1 cmd", "-1  2", "-1\n2", "+1+1", "-1,2", "-1 =2", "-１"):
        assert str(csv_row({"a": text})["a"]).startswith("'"), text


@pytest.mark.parametrize(
    "arguments",
    [
        *(["report", "-f", name] for name in ("terminal", "markdown", "latex", "csv", "json")),
        *(["report", "--table", "tasks"], ["compare"], ["compare", "-f", "csv"], ["compare", "-f", "json"], ["status"]),
    ],
)
def test_no_command_of_a_record_reaches_the_terminal(hostile: Path, arguments: list[str]) -> None:
    result = forked(["cseb", arguments[0], str(hostile), *arguments[1:]], ROOT)
    assert result.returncode in (0, 2), result.stderr
    assert "Traceback" not in result.stderr
    assert result.stdout or result.stderr
    assert not OBEYED.search(result.stdout + result.stderr)
    if arguments[-1] == "csv":
        cells = [cell for row in csv.reader(io.StringIO(result.stdout)) for cell in row]
        assert not [cell for cell in cells if cell[:1] in ("=", "+", "@")]


@pytest.mark.parametrize(
    "arguments",
    [
        *(["show", HOSTILE], [HOSTILE], ["report", HOSTILE], ["report", "--table", HOSTILE], ["run", HOSTILE]),
        *(["run", f"--{HOSTILE}"], ["run", "--seeds", HOSTILE], ["data", "sample", HOSTILE, "--size", "1"]),
        *(["eval", HOSTILE], ["diff", HOSTILE, HOSTILE], ["data", "where", HOSTILE]),
    ],
)
@pytest.mark.parametrize("times", [1, 2000])
def test_no_argument_comes_back_as_a_command(arguments: list[str], times: int) -> None:
    given = [word.replace(HOSTILE, HOSTILE * times) for word in arguments]
    result = forked(["cseb", *given], ROOT)
    assert result.returncode == 2
    assert len(without_progress(result.stderr)) == 1, result.stderr
    assert not OBEYED.search(result.stdout + result.stderr)
    assert len(result.stderr) < 2100


def on_terminal(*arguments: object) -> str:
    """What a command prints on a terminal of its own."""
    master, slave = pty.openpty()
    with subprocess.Popen(command(*arguments), cwd=ROOT, stdout=slave, stderr=slave) as process:
        os.close(slave)
        said = b""
        try:
            while piece := os.read(master, 4096):
                said += piece
        except OSError:  # how Linux says that nobody writes any more
            pass
        process.wait(60)
    os.close(master)
    return said.decode()


def test_a_sample_is_exact_in_a_pipe_and_harmless_on_a_terminal(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.txt"
    corpus.write_bytes(f"{HOSTILE} is one\n".encode() * 3)
    result = subprocess.run(command("data", "sample", corpus, "--size", 3), cwd=ROOT, capture_output=True, check=True)
    assert result.stdout.decode() == f"{HOSTILE} is one\n" * 3
    said = on_terminal("data", "sample", corpus, "--size", 3)
    assert "is one" in said
    assert not OBEYED.search(said.replace("\r\n", "\n"))


def test_long_messages_wrap_between_words_on_a_terminal() -> None:
    message = called("show", "no-such-method", capture_output=True).stderr
    shown = on_terminal("show", "no-such-method")
    assert len(message) > 200 and message.count("\n") == 1
    assert shown.split() == message.split()
    assert max(map(len, shown.splitlines())) <= 80


def test_every_command_prints_through_the_door() -> None:
    """A plain echo or print would let codes through, and turn a full disk into a traceback."""
    for path in (ROOT / "cseb/commands").glob("*.py"):
        if path.name != "screen.py":
            assert not re.search(
                r"typer\.echo\(|(?<!console\.)(?<!errors\.)(?<!out\.)\bprint\(|sys\.stdout\.write", path.read_text()
            ), path


FULL = pytest.mark.skipif(not Path("/dev/full").exists(), reason="no such device here")


@FULL
@pytest.mark.parametrize(
    "arguments",
    [
        *(["--help"], ["--version"], ["run", "--help"], ["show", "methods"], ["show", "simcse"], ["data", "list"]),
        *(["data", "sample", "wikipedia:1000", "--size", "9"], ["status", "RESULTS"]),
        *(["report", "RESULTS"], ["report", "RESULTS", "-f", "json"]),
    ],
)
def test_a_full_standard_output_is_one_line(hostile: Path, arguments: list[str]) -> None:
    given = [str(hostile) if word == "RESULTS" else word for word in arguments]
    with Path("/dev/full").open("w") as full:
        result = called(*given, stdout=full, stderr=subprocess.PIPE)
    assert result.returncode == 1
    assert result.stderr == "cseb: standard output cannot be written: No space left on device\n"


@FULL
def test_a_full_standard_error_changes_no_exit_code() -> None:
    with Path("/dev/full").open("w") as full:
        result = called("show", "nothing", stdout=subprocess.PIPE, stderr=full)
    assert (result.returncode, result.stdout) == (2, "")


def test_a_reader_that_leaves_is_no_word() -> None:
    with subprocess.Popen(
        command("data", "sample", "wikipedia:19000", "--size", "19000"),
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) in (1, -13)


def outputs(folder: Path, out: Path) -> Iterator[list[object]]:
    """Every command that writes a file where it is told."""
    for name in ("terminal", "csv"):
        yield ["report", folder, "-f", name, "--out", out]
    yield ["data", "sample", "wikipedia:100", "--size", 5, "--out", out]


def test_no_output_replaces_a_device_or_a_link(tmp_path: Path, hostile: Path) -> None:
    null, link, target = tmp_path / "null", tmp_path / "link", tmp_path / "target.txt"
    link.symlink_to(target)
    try:
        os.mknod(null, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        null.open("wb").close()
    except OSError:
        null = link
    for place in (null, link):
        for wanted in outputs(hostile, place):
            result = forked(["cseb", *map(str, wanted)], ROOT)
            assert result.returncode == 0, result.stderr
            assert place is link or stat.S_ISCHR(null.stat().st_mode)
            assert link.is_symlink()
    assert target.is_file()
    assert sorted(each.name for each in tmp_path.iterdir()) == ["link", "link.json", "null", "results", "target.txt"]


def test_a_plot_goes_through_a_link(tmp_path: Path) -> None:
    figure = pytest.importorskip("matplotlib.figure").Figure()
    from cseb.plots.style import Plot, save

    (tmp_path / "link.png").symlink_to(tmp_path / "target.png")
    save(Plot(figure, "nothing"), tmp_path / "link.png")
    assert (tmp_path / "link.png").is_symlink()
    assert (tmp_path / "target.png").read_bytes().startswith(b"\x89PNG")


def test_a_report_to_standard_output_by_its_name_stands_in_it(tmp_path: Path, hostile: Path) -> None:
    if not Path("/dev/stdout").exists():
        pytest.skip("no such name here")
    with (tmp_path / "out.csv").open("w") as file:
        assert called("report", hostile, "-f", "csv", "--out", "/dev/stdout", stdout=file).returncode == 0
    text = (tmp_path / "out.csv").read_text()
    assert text.startswith("table,")
    assert "written to" not in text
