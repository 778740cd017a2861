"""A run that was packed: every command says of the archive what it says of the folder."""

import io
import shutil
from contextlib import redirect_stdout
from pathlib import Path

import pytest

import cseb
from benchmarks.archive import main
from cseb.experiment import benchmark as benchmarks
from tests.command_line import call, refused


def archive(*words: object) -> str:
    """Return what the script prints."""
    printed = io.StringIO()
    with redirect_stdout(printed):
        main([str(word) for word in words])
    return printed.getvalue()


@pytest.fixture
def loose(ran: Path, tmp_path: Path) -> Path:
    shutil.copytree(ran, tmp_path / "loose")
    return tmp_path / "loose"


@pytest.fixture
def out(loose: Path, tmp_path: Path) -> Path:
    said = archive(loose, "--out", tmp_path / "out")
    assert said.startswith(f"2 records, 2 of them with items, in {tmp_path / 'out'}/records.zip.xz (")
    return tmp_path / "out"


def test_commands_read_an_archive_as_they_read_the_folder(loose: Path, out: Path) -> None:
    (benchmark,) = loose.glob("benchmark-*.yaml")
    assert sorted(path.name for path in out.iterdir()) == [benchmark.name, "items.zip", "records.zip.xz"]
    key = cseb.load(loose).records[0].key
    for command in (["report"], ["report", "-f", "latex"], ["compare", "--baseline", "all"]):
        from_folder, from_archive = (call(command[0], folder, *command[1:]) for folder in (loose, out))
        assert from_folder.output.replace(str(loose), "") == from_archive.output.replace(str(out), ""), command
        assert from_folder.exit_code == from_archive.exit_code
    shown = call("show", key, "--results", out).stdout
    assert f"{out}/records.zip.xz, runs/{key}.json" in shown
    assert f"{out}/items.zip, items/{key}.npz" in shown


def test_what_is_left_out_is_no_error(loose: Path, tmp_path: Path) -> None:
    names = sorted({record.method for record in cseb.load(loose).records})
    assert names[0] == "cls"
    packed = archive(loose, "--out", tmp_path / "some", "--items", "cls", "--select", "best")
    assert packed.startswith("2 records, 1 of them with items")
    archive(loose, "--out", tmp_path / "none", "--items", "none")
    assert call("report", tmp_path / "none").stdout == call("report", loose).stdout


def test_the_data_folder_of_this_machine_is_not_packed(loose: Path, tmp_path: Path) -> None:
    (path,) = loose.glob("benchmark-*.yaml")
    path.write_text(path.read_text() + "data_dir: /home/somebody/data\n")
    archive(loose, "--out", tmp_path / "out")
    assert "somebody" not in (tmp_path / "out" / path.name).read_text()
    assert "somebody" in path.read_text()


def test_records_are_added_in_an_archive_of_their_own(loose: Path, tmp_path: Path) -> None:
    out, first = tmp_path / "out", tmp_path / "first"
    other = cseb.load(loose).records[1]
    shutil.copytree(loose, first)
    (first / "runs" / f"{other.key}.json").unlink()
    archive(first, "--out", out)
    before = (out / "records.zip.xz").read_bytes()
    added = archive(loose, "--out", out)
    assert added.startswith(f"1 record, 1 of them with items, in {out}/records-2.zip.xz (")
    assert added.endswith(" MB with items), beside 1 record archived before\n")
    assert (out / "records.zip.xz").read_bytes() == before
    again = archive(loose, "--out", out)
    assert again == f"nothing new: every record is in an archive of {out} already\n"
    assert call("report", out).stdout == call("report", loose).stdout
    assert f"{out}/items-2.zip, items/{other.key}.npz" in call("show", other.key, "--results", out).stdout


def test_grids_of_several_runs_are_one_benchmark(loose: Path, tmp_path: Path) -> None:
    (path,) = loose.glob("benchmark-*.yaml")
    whole = benchmarks.load(str(path))
    tuned = {"simcse": "recipe(learning_rate=1e-3)", "msse": "recipe(learning_rate=1e-4)"}
    first, other = tmp_path / "one", tmp_path / "other"
    for folder, changes in (
        (first, {"methods": "cls, simcse", "sizes": (20, 100), "seeds": 2, "per_method": {"simcse": tuned["simcse"]}}),
        (other, {"methods": "msse,simcse", "sizes": (50, 100), "seeds": 5, "per_method": {**tuned, "simcse": "mlp()"}}),
    ):
        shutil.copytree(loose, folder)
        told = whole.model_copy(update={"fractions": (), **changes})
        (folder / path.name).write_text(benchmarks.text(told))
    archive(first, "--out", tmp_path / "out")
    archive(other, "--out", tmp_path / "out")
    joined = benchmarks.load(str(tmp_path / "out" / path.name))
    assert (joined.methods, joined.sizes, joined.seeds) == ("cls, simcse, msse", (20, 50, 100), 5)
    assert joined.per_method == tuned


def test_archives_of_two_people_are_joined_as_the_refusal_says(loose: Path, out: Path, tmp_path: Path) -> None:
    """Both made records-2.zip.xz, say, and one was called records-3.zip.xz."""
    shutil.copy(out / "records.zip.xz", out / "records-2.zip.xz")
    assert refused("report", out).endswith(
        "move records-2.zip.xz to a folder of its own, and add that folder with benchmarks.archive"
    )
    (tmp_path / "theirs").mkdir()
    (out / "records-2.zip.xz").rename(tmp_path / "theirs" / "records-2.zip.xz")
    assert archive(tmp_path / "theirs", "--out", out).startswith("nothing new: ")
    assert call("report", out).stdout == call("report", loose).stdout
