"""A run that was packed: every command says of the archive what it says of the folder."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import cseb
from cseb.cli import app


def call(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(one) for one in arguments])


@pytest.fixture
def loose(ran: Path, tmp_path: Path) -> Path:
    shutil.copytree(ran, tmp_path / "loose")
    return tmp_path / "loose"


@pytest.fixture
def out(loose: Path, tmp_path: Path) -> Path:
    found = call("archive", loose, "--out", tmp_path / "out")
    assert found.exit_code == 0, found.output
    assert found.stdout.startswith(f"2 records, 2 of them with items, in {tmp_path / 'out'}/records.zip (")
    assert found.stdout.endswith(f" MB); 8 scores in {tmp_path / 'out'}/scores.csv\n")
    return tmp_path / "out"


def test_commands_read_an_archive_as_they_read_the_folder(loose: Path, out: Path) -> None:
    (benchmark,) = loose.glob("benchmark-*.yaml")
    assert sorted(path.name for path in out.iterdir()) == [benchmark.name, "records.zip", "scores.csv"]
    key = cseb.load(loose).records[0].key
    for command in (["report"], ["report", "--format", "latex"], ["verify"], ["compare", "--all-pairs"]):
        here, there = (call(command[0], folder, *command[1:]) for folder in (loose, out))
        assert here.output.replace(str(loose), "") == there.output.replace(str(out), ""), command
        assert here.exit_code == there.exit_code
    shown = call("show", key, "--results", out).stdout
    assert f"{out}/records.zip, runs/{key}.json" in shown
    assert f"{out}/records.zip, items/{key}.npz" in shown
    assert call("diff", loose, out).stdout.startswith("nothing differs but the run itself")
    again = call("rerun", key, "--results", out)
    assert again.exit_code == 0, again.output


def test_the_table_has_every_score_in_full_precision(loose: Path, out: Path) -> None:
    with (out / "scores.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    frame = cseb.load(loose).frame()
    assert len(rows) == len(frame) == 8
    assert [(row["method"], row["task"], row["checkpoint"], row["key"]) for row in rows] == list(
        frame[["method", "task", "checkpoint", "key"]].itertuples(index=False, name=None)
    )
    assert [float(row["score"]) for row in rows] == frame.score.tolist()


def test_what_is_left_out_is_counted_and_no_error(loose: Path, tmp_path: Path) -> None:
    names = sorted({one.method for one in cseb.load(loose).records})
    assert names[0] == "cls"
    packed = call("archive", loose, "--out", tmp_path / "some", "--items", "cls", "--select", "best")
    assert packed.stdout.startswith("2 records, 1 of them with items")
    found = call("verify", tmp_path / "some")
    assert found.exit_code == 0, found.output
    assert (
        found.stdout == "1 of 2 records verified, 14 figures recomputed; the archive leaves out the items of 6 scores\n"
    )
    call("archive", loose, "--out", tmp_path / "none", "--items", "none")
    bare = call("verify", tmp_path / "none")
    assert (
        bare.stdout == "0 of 2 records verified, 0 figures recomputed; the archive leaves out the items of 8 scores\n"
    )
    assert call("report", tmp_path / "none").stdout == call("report", loose).stdout


def test_the_data_folder_of_this_machine_is_not_packed(loose: Path, tmp_path: Path) -> None:
    (path,) = loose.glob("benchmark-*.yaml")
    path.write_text(path.read_text() + "data_dir: /home/somebody/data\n")
    call("archive", loose, "--out", tmp_path / "out")
    assert "somebody" not in (tmp_path / "out" / path.name).read_text()
    assert "somebody" in path.read_text()
