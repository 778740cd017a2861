"""Numbers that do not follow from their items are found, whichever of the two was changed."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cseb.commands.verify import verify
from cseb.records.store import Store
from tests.command_line import call, printed

Edit = Callable[[dict[str, Any], dict[str, Any]], None]


def wrong(folder: Path) -> list[str]:
    return [line for checked in verify(folder) for line in checked.wrong]


@pytest.fixture
def copy(ran: Path, tmp_path: Path) -> Path:
    shutil.copytree(ran, tmp_path / "results")
    return tmp_path / "results"


def tamper(folder: Path, edit: Edit) -> None:
    """Change the record of one job and its items."""
    (path,) = (path for path in (folder / "runs").iterdir() if json.loads(path.read_bytes())["method"] == "cls")
    record = json.loads(path.read_bytes())
    with np.load(folder / "items" / f"{path.stem}.npz") as archive:
        items = dict(archive)
    edit(record, items)
    path.write_text(json.dumps(record))
    np.savez(folder / "items" / f"{path.stem}.npz", **items)


def test_what_a_run_leaves_is_as_its_items_say(ran: Path) -> None:
    result = printed("show", ran, "--verify")
    # two jobs, two checkpoints, two tasks, a value and six figures each
    assert result == "2 of 2 records verified, 56 figures recomputed\n"


def scored(place: int, **fields: object) -> Edit:
    """Change a score of the record."""
    return lambda record, items: record["scores"][place].update(fields)


def unscored(record: dict[str, Any], items: dict[str, Any]) -> None:
    record["scores"] = [score for score in record["scores"] if score["task"] != "toy-mixed@1"]


def cut(record: dict[str, Any], items: dict[str, Any]) -> None:
    items["toy-captions@1/best"] = items["toy-captions@1/best"][:-1]


def version(record: dict[str, Any], items: dict[str, Any]) -> None:
    for name in [name for name in items if name.startswith("toy-mixed@1")]:
        items[name.replace("@1", "@9")] = items.pop(name)
    record["protocol"]["tasks"] = ["toy-captions@1", "toy-mixed@9"]
    for score in record["scores"]:
        score["task"] = score["task"].replace("mixed@1", "mixed@9")


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (scored(0, value=1.0), "toy-captions@1 best: the record says"),
        (scored(0, value=None), "toy-captions@1 best: the record says none, its items give"),
        (scored(1, detail={"pearson.all": 1.0}), "toy-mixed@1 best, pearson.all: the record says"),
        (scored(0, detail={"made.up": None}), "toy-captions@1 best, made.up: the record says none, its items give no"),
        (scored(0, items=199), "toy-captions@1 best: 200 items, the record says 199"),
        (unscored, "toy-mixed@1: no score"),
        (lambda record, items: items["toy-mixed@1/last"].fill(0.5), "toy-mixed@1 last: the record says"),
        (lambda record, items: items.pop("toy-captions@1/last"), "toy-captions@1 last: a score without items"),
        (lambda record, items: items.update({"toy-forum@1/last": np.ones(9)}), "toy-forum@1/last: items without a s"),
        (cut, "toy-captions@1 best: 199 items, the record says 200"),
        (cut, "toy-captions@1 best: its items do not fit its task"),
        (
            lambda record, _: record.update(status="failed", failure={"step": 3, "reason": "x"}),
            "a failed job has scores",
        ),
        (lambda record, items: record["protocol"].update(data="0" * 64), "task data: sha256 "),
        (version, "toy-mixed@9 best: today's task is toy-mixed@1"),
    ],
)
def test_a_planted_fault_is_named(copy: Path, edit: Edit, words: str) -> None:
    assert wrong(copy) == []
    tamper(copy, edit)
    assert any(line.startswith(words) for line in wrong(copy)), wrong(copy)


def test_faults_leave_1_and_name_the_record(copy: Path) -> None:
    tamper(copy, scored(0, value=1.0))
    result = call("show", copy, "--verify")
    assert result.exit_code == 1
    (key,) = (path.stem for path in (copy / "runs").iterdir() if json.loads(path.read_bytes())["method"] == "cls")
    assert result.output.startswith(f"BAD {key} toy-captions@1 best: the record says ")
    assert result.output.endswith("1 of 2 records verified, 56 figures recomputed\n")


def test_lost_items_and_files_that_are_no_records(copy: Path) -> None:
    next((copy / "items").iterdir()).unlink()
    (copy / "runs" / "notes.txt").write_text("hello")
    lines = wrong(copy)
    assert any(line.startswith("items: ") and "cannot be read" in line for line in lines)
    assert any(line.startswith("not a record") for line in lines)


def test_a_record_that_cannot_be_checked_leaves_the_others(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first of them ended it all with the error of whoever should have had its task files."""
    from dataclasses import replace

    from tests.factory import record

    store = Store(copy)
    own = record(tasks=("my-own-file@1",), values=(50.0,), dev="", measures={"my-own-file@1": "sts@1"})
    store.write(own, {"my-own-file@1/last": np.zeros(500, dtype=np.float32)})
    sick = record("cls", tasks=("sickr@1",), values=(50.0,), dev="", benchmark="eval")
    sick = sick.model_copy(update={"scores": tuple(replace(score, items=4927) for score in sick.scores)})
    store.write(sick, {"sickr@1/last": np.zeros(4927, dtype=np.float32)})
    monkeypatch.setenv("CSEB_DATA_DIR", str(copy))
    result = call("show", copy, "--verify")
    assert result.exit_code == 1
    assert result.stderr == ""
    lines = result.output.splitlines()
    named = [line.split(":")[0] for line in lines if own.key in line]
    assert named == [f"--  {own.key} cannot be checked"] * 2
    assert any(line.startswith(f"--  {sick.key} cannot be checked: sickr@1 last: ") for line in lines)
    assert lines[-1] == "2 of 4 records verified, 56 figures recomputed, 2 cannot be checked"
