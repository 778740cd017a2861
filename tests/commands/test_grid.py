"""A grid from a notebook: the records are those of the command line, and come as a frame."""

from pathlib import Path
from typing import Any

import pytest

import cseb
from cseb.commands.provenance import story
from cseb.commands.results import COLUMNS
from cseb.encoder import linear
from cseb.encoder.linear import available, take, taken
from cseb.errors import BadBenchmark, BadResults
from cseb.records.store import Store
from tests.command_line import call, printed
from tests.factory import stored
from tests.world import WORLD

pytestmark = pytest.mark.xdist_group("api")  # in one process, so that their grid is run once

SMALL: dict[str, Any] = {
    "benchmark": WORLD,
    "methods": ["simcse", "cls"], "sizes": [64, 80], "seeds": 1, "corpus": "wikipedia:100", "steps": 2,
    "tasks": ["toy-captions"], "workers": 1, "device": "cpu",
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("grid") / "results"
    cseb.run(**SMALL, results=made)
    return made


def test_a_grid_runs_once_and_goes_on_where_it_was(folder: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in Store(folder).runs.iterdir()}
    again = cseb.run(**SMALL, results=folder)
    assert len(again) == 4
    assert not again.problems
    assert before == {path: path.stat().st_mtime_ns for path in Store(folder).runs.iterdir()}
    more = cseb.run(**SMALL | {"sizes": 90}, results=folder)
    assert [record.subset.size for record in more] == [90, 90]


@pytest.mark.skipif(not available(), reason="this PyTorch cannot take oneDNN")
def test_the_linear_library_is_chosen_once_and_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def resolved(name: str, threads: int, device: str = "cpu") -> str:
        asked.append(name)
        return "onednn" if name == "auto" else name

    monkeypatch.setattr(linear, "resolved", resolved)
    before = taken()
    try:
        result = cseb.run(**SMALL, results=tmp_path / "auto")
        other = cseb.run(**SMALL, linear="blas", results=tmp_path / "blas")
    finally:
        take(before)
    assert asked.count("auto") == 1  # the jobs were told what it stands for
    assert {record.origin.linear for record in result} == {"onednn"}
    assert {record.origin.linear for record in other} == {"blas"}
    assert [record.key for record in result] == [record.key for record in other]
    told = dict(row for _, rows in story(next(iter(result)), Store(tmp_path / "auto")) for row in rows)
    assert told["arithmetic"] == "cpu, threads: 1, fp32, linear layers by onednn"


def test_the_command_line_would_run_the_very_same_jobs(folder: Path) -> None:
    words = f"run {WORLD} --methods simcse,cls --sizes 64,80 --seeds 1 --corpus wikipedia:100 --steps 2"
    said = printed(*words.split(), "--tasks", "toy-captions", "--device", "cpu", "--dry-run", "--results", str(folder))
    assert "4 jobs, 0 to run" in said


def test_a_frame_has_one_row_for_each_run_task_and_checkpoint(folder: Path) -> None:
    results = cseb.load(folder)
    frame = results.frame()
    assert tuple(frame.columns) == COLUMNS
    assert len(frame) == sum(len(record.scores) for record in results.records)
    assert not frame.duplicated(["key", "task", "checkpoint"]).any()
    assert set(frame.checkpoint) == {"best", "last"}
    assert set(frame.task) == {"toy-captions"}
    assert frame.score.dtype == float
    [record] = [each for each in results if each.method == "simcse" and each.subset.size == 64]
    row = frame[(frame.key == record.key) & (frame.checkpoint == "last")].iloc[0]
    assert row.score == next(each.value for each in record.scores if each.select == "last")
    assert (row.method, row["size"], row.fraction, row.seed) == ("simcse", 64, 0.64, 0)


def test_an_empty_folder_has_an_empty_frame_with_all_columns(tmp_path: Path) -> None:
    Store(tmp_path).prepare()
    assert tuple(cseb.load(tmp_path).frame().columns) == COLUMNS


def test_files_that_are_no_records_are_named(folder: Path, tmp_path: Path) -> None:
    store = stored(tmp_path)
    (store.runs / "0123456789abcdef.json").write_text("{}")
    result = cseb.load(tmp_path)
    assert not result.records
    assert "0123456789abcdef.json" in str(result.problems[0])
    assert "1 problem" in repr(result)


def test_a_job_that_left_no_record_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise BadResults("no room")

    monkeypatch.setattr("cseb.experiment.run_job.run_job", broken)
    result = cseb.run(**SMALL | {"sizes": 64, "methods": "cls"}, results=tmp_path)
    assert not result.records
    assert result.problems[0].reason == "no room"


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(BadResults, match="no records"):
        cseb.load(tmp_path / "nowhere")
    assert issubclass(BadBenchmark, cseb.CsebError)


def test_repeated_sentences_are_said_and_noted_in_the_record(tmp_path: Path) -> None:
    corpus = tmp_path / "mine.txt"
    corpus.write_text("".join(f"a sentence about number {number % 90}\n" for number in range(100)))
    words = f"run {WORLD} --methods simcse --sizes 100 --seeds 1 --steps 2 --tasks toy-captions --device cpu"
    result = call(*words.split(), "--workers", "1", "--corpus", str(corpus), "--results", str(tmp_path / "results"))
    assert result.exit_code == 0, result.stderr
    assert f"{corpus}: 10 of 100 sentences repeat an earlier one" in result.stderr
    (record,) = cseb.load(tmp_path / "results")
    assert "10 of 100 training sentences repeat an earlier one" in record.trace.notes
