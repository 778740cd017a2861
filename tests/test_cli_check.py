"""`cseb check` from the outside: three questions, three formats, and what it stores."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from typer.testing import Result

from cseb.api import check as checking
from cseb.records.record import Record
from cseb.records.store import Store
from cseb.regression import reference as references
from tests import command_line
from tests.conftest import SENTENCES
from tests.factory import record
from tests.stderr_lines import without_progress


def call(*arguments: object) -> Result:
    options = ["--workers", 1, "--device", "cpu", "--quiet"]
    return command_line.call("check", *arguments, *options)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, tiny: Callable[[str], Path]) -> Path:
    """A benchmark with expected records; tests change copies of these."""
    folder = tmp_path_factory.mktemp("check")
    (folder / "corpus.txt").write_text("\n".join(SENTENCES))
    (folder / "mine.yaml").write_text(
        f"name: mine\nmethods: cls\nencoder: {tiny('bert')}\ncorpus: {folder / 'corpus.txt'}\nsizes: [32]\nseeds: 1\n"
        "tasks: mw-captions,mw-mixed\ntolerance: 0.5\n"
    )
    result = call(folder / "mine.yaml", "--update")
    assert result.exit_code == 0, result.output
    assert "1 record written" in result.output
    return folder


@pytest.fixture
def benchmark(made: Path, tmp_path: Path) -> Path:
    (tmp_path / "expected/mine/runs").mkdir(parents=True)
    for file in (made / "expected").rglob("*.json"):
        (tmp_path / file.relative_to(made)).write_bytes(file.read_bytes())
    (tmp_path / "mine.yaml").write_bytes((made / "mine.yaml").read_bytes())
    return tmp_path / "mine.yaml"


def edit(path: Path, change: Callable[[Any], None]) -> None:
    held = json.loads(path.read_bytes())
    change(held)
    path.write_text(json.dumps(held))


def record_of(benchmark: Path) -> Path:
    return next((benchmark.parent / "expected/mine/runs").iterdir())


def shift(points: float) -> Callable[[Any], None]:
    def change(held: Any) -> None:
        for score in held["scores"]:
            score["value"] += points

    return change


def test_the_same_job_comes_back_bit_for_bit(benchmark: Path) -> None:
    result = call(benchmark)
    assert result.exit_code == 0, result.output
    assert result.output.splitlines() == [
        "code: did a change of the code change a number? "
        "no; 1 of 1 cell as expected, 1 of them identical to the last bit",
        "drift: did scores move by more than repeated runs do? "
        "no; 2 of 2 cells as expected, 2 of them identical to the last bit",
    ]


@pytest.mark.parametrize(("points", "drifts"), [(0.6, True), (0.01, False)])
def test_a_moved_number_is_a_change_of_code_and_beyond_the_limit_drift(
    benchmark: Path, points: float, drifts: bool
) -> None:
    edit(record_of(benchmark), shift(points))
    result = call(benchmark, "--junit", benchmark.parent / "out.xml")
    assert result.exit_code == 1
    assert "BAD cls 50 % seed 0  mw-captions@1 best: " in result.output
    assert ("BAD cls 50 % seed 0 last" in result.output) is drifts
    assert "allowed ±0.5" in result.output
    suites = {suite.get("name"): suite.get("failures") for suite in ET.parse(benchmark.parent / "out.xml").getroot()}
    assert suites == {"code": "1", "drift": "2" if drifts else "0"}


def test_one_bit_of_an_item_is_a_change_of_code(benchmark: Path) -> None:
    path = benchmark.parent / "expected/mine" / references.FILE
    edit(path, lambda held: held["items"].update(dict.fromkeys(held["items"], "0" * 32)))
    result = call(benchmark, "--format", "github")
    assert result.exit_code == 1
    assert result.output.startswith("::error title=cseb check%3A code::cls 50 %25 seed 0: items of the best checkpoint")


def test_on_another_machine_code_is_not_asked_and_drift_decides(benchmark: Path) -> None:
    path = benchmark.parent / "expected/mine" / references.FILE
    edit(path, lambda held: held["conditions"].update(cpu="a machine of long ago"))
    edit(record_of(benchmark), shift(0.01))
    result = call(benchmark)
    assert result.exit_code == 0, result.output
    assert "cpu is " in result.output
    assert "a machine of long ago there" in result.output
    edit(record_of(benchmark), shift(0.6))
    assert call(benchmark).exit_code == 1


def test_what_is_expected_on_a_machine_like_this_one_comes_first(benchmark: Path) -> None:
    expected = benchmark.parent / "expected/mine"
    torch = references.read(expected).conditions["torch"]
    edit(expected / references.FILE, lambda held: held["conditions"].update(cpu="long ago", torch="1.0"))
    edit(record_of(benchmark), shift(7.0))
    assert call(benchmark).exit_code == 1
    made = call(benchmark, "--update", "--machine", "other-one")
    assert made.exit_code == 0, made.output
    assert "on-other-one, 0 removed" in made.output
    found = call(benchmark)
    assert found.exit_code == 0, found.output
    assert "no; 1 of 1 cell as expected, 1 of them identical to the last bit" in found.output
    assert "cpu is " not in found.output
    edit(expected / "on-other-one" / references.FILE, lambda held: held["conditions"].update(cpu="long ago"))
    near = call(benchmark)  # another processor, but the same libraries: nearer than the first records
    assert near.exit_code == 0, near.output
    assert "cpu is " in near.output
    edit(expected / "on-other-one" / references.FILE, lambda held: held["conditions"].update(torch="1.0"))
    assert call(benchmark).exit_code == 1, "where all are as far away, the first ones count"
    (other,) = (expected / "on-other-one" / "runs").iterdir()
    other.unlink()
    edit(expected / "on-other-one" / references.FILE, lambda held: held["conditions"].update(torch=torch))
    assert call(benchmark).exit_code == 1, "records of other jobs do not count"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--machine", "amd"], "it goes with --update"),
        (["--update", "--machine", "../amd"], "lower-case letters, digits and hyphens are allowed"),
    ],
)
def test_machines_have_plain_names_and_are_for_updates(
    benchmark: Path, options: list[str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checking.FreshRun, "trained", None)  # said before anything is trained
    refused = call(benchmark, *options)
    assert refused.exit_code == 2
    assert said in refused.stderr


def test_a_machine_has_the_jobs_of_the_others(benchmark: Path) -> None:
    record_of(benchmark).unlink()
    refused = call(benchmark, "--update", "--machine", "amd")
    assert refused.exit_code == 2
    assert "take --update without --machine first" in refused.stderr
    assert not list((benchmark.parent / "expected/mine").glob("on-*"))


def test_repeats_measure_the_limit_and_store_it(benchmark: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checking, "TURNS", tuple(checking.Turn(threads, "1", "blas") for threads in (1, 2, 1, 2, 1)))
    benchmark.write_text(benchmark.read_text().replace("tolerance: 0.5\n", ""))
    refused = call(benchmark)
    assert refused.exit_code == 2
    assert "how far cls may move is not known; measure it: cseb check" in refused.stderr
    result = call(benchmark, "--calibrate")
    assert result.exit_code == 0, result.output
    held = references.read(benchmark.parent / "expected/mine")
    assert held.items, "what --update has stored stays"
    assert held.repeatability is not None
    assert held.repeatability.repeats == 5
    assert held.repeatability.sd["cls"] < 1e-3  # nothing is trained
    edit(record_of(benchmark), shift(0.02))
    assert "allowed ±0.01" in call(benchmark).output


def test_what_is_repeated_is_what_is_checked(grid: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    libraries = ("blas", "onednn", "blas", "onednn", "blas")
    monkeypatch.setattr(checking, "TURNS", tuple(checking.Turn(1, "1", linear) for linear in libraries))
    grid.write_text(grid.read_text().replace("check: {methods: mean, sizes: [32], seeds: 1}", "check: {methods: mean}"))
    seen: list[tuple[str, int, int, str]] = []
    scattered = references.scatter

    def scatter(repeats: Sequence[Sequence[Record]]) -> dict[str, float]:
        seen.extend((one.method, one.subset.size, one.seed, one.origin.linear) for repeat in repeats for one in repeat)
        return scattered(repeats)

    monkeypatch.setattr(references, "scatter", scatter)
    result = call(grid, "--calibrate", "--data-dir", grid.parent / "data")
    assert result.exit_code == 0, result.output
    cells = {("mean", size, seed) for size in (16, 32) for seed in (0, 1)}
    assert set(seen) == {(*cell, linear) for cell in cells for linear in set(libraries)}
    measured = references.read(grid.parent / "expected/grid").repeatability
    assert measured is not None
    assert measured.cells == "4 jobs"


def test_records_that_are_there_need_no_training(benchmark: Path, tmp_path: Path) -> None:
    none = call(benchmark, "--results", benchmark.parent / "expected/mine", "--against", "published")
    assert (none.exit_code, "no paper prints a number for these methods" in none.stderr) == (2, True)
    assert Store(benchmark.parent / "expected/mine").keys() == {record_of(benchmark).stem}
    results = Store(tmp_path / "results")
    results.prepare()
    results.write(record("cls", tasks=("sts12@1",), values=(30.0,), encoder="cseb-tiny"), {})
    found = call(benchmark, "--results", results.folder, "--against", "published")
    assert found.exit_code == 0, found.output
    assert "not comparable (encoder cseb-tiny, theirs bert-base" in found.output
    assert "paper: are published numbers reproduced? not checked" in found.output
    wrong = call(benchmark, "--against", "nobody")
    assert (wrong.exit_code, len(without_progress(wrong.stderr))) == (2, 1)


def test_nothing_expected_is_said_before_anything_is_trained(benchmark: Path) -> None:
    record_of(benchmark).unlink()
    result = call(benchmark)
    assert result.exit_code == 2
    assert "--update" in result.stderr


@pytest.fixture
def grid(tmp_path: Path, tiny: Callable[[str], Path]) -> Path:
    """Two methods and two sizes, of which one cell is checked, on a corpus that lies below a data folder."""
    (tmp_path / "data" / "wiki").mkdir(parents=True)
    (tmp_path / "data" / "wiki" / "wiki1m_head.txt").write_text("\n".join(SENTENCES))
    (tmp_path / "grid.yaml").write_text(
        f"name: grid\nmethods: cls, mean\nencoder: {tiny('bert')}\ncorpus: data:wiki1m_head.txt\nsizes: [16, 32]\n"
        "seeds: 2\ntasks: mw-captions\ntolerance: 0.5\ncheck: {methods: mean, sizes: [32], seeds: 1}\n"
    )
    return tmp_path / "grid.yaml"


def test_only_the_cells_that_a_benchmark_names_are_checked(grid: Path) -> None:
    data = ["--data-dir", grid.parent / "data"]
    made = call(grid, "--update", *data)
    assert made.exit_code == 0, made.output
    expected = Store(grid.parent / "expected/grid")
    (one,) = expected.load()[0]
    assert (one.method, one.subset.size, one.seed) == ("mean", 32, 0)
    found = call(grid, *data)
    assert found.exit_code == 0, found.output
    assert "no; 1 of 1 cell as expected, 1 of them identical to the last bit" in found.output


def test_of_a_whole_grid_the_named_cells_are_compared(grid: Path) -> None:
    results = grid.parent / "whole"
    data = ["--data-dir", str(grid.parent / "data")]
    ran = command_line.call(
        "run", str(grid), *data, "--results", str(results), "--device", "cpu", "--workers", "1", "--quiet"
    )
    assert ran.exit_code == 0, ran.output
    assert len(Store(results).keys()) == 8
    assert "1 record written" in call(grid, "--update", "--results", results).output
    packed = command_line.call("archive", str(results), "--out", str(grid.parent / "packed"))
    assert packed.exit_code == 0, packed.output
    found = call(grid, "--results", grid.parent / "packed")
    assert found.exit_code == 0, found.output
    assert "no; 1 of 1 cell as expected, 1 of them identical to the last bit" in found.output
    assert "no; 2 of 2 cells as expected, 2 of them identical to the last bit" in found.output  # both checkpoints
    again = command_line.call("rerun", next(iter(Store(results).keys())), "--results", str(results), *data)
    assert again.exit_code == 0, again.output


def test_without_its_data_a_benchmark_is_skipped(
    grid: Path, senteval: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grid.write_text(grid.read_text().replace("mw-captions", "stsb,mw-captions"))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "no-cache"))
    monkeypatch.delenv("CSEB_DATA_DIR", raising=False)
    nowhere = call(grid)
    assert nowhere.exit_code == 0, nowhere.output
    assert "code: did a change of the code change a number? not checked" in nowhere.output
    assert "--  all  skipped: no data: stsb, wiki1m-head in the caches, and no --data-dir is given" in nowhere.output
    partly = call(grid, "--data-dir", senteval, "--junit", tmp_path / "out.xml")
    assert f"skipped: no data: wiki1m-head below {senteval}; make it: head -n 11913" in partly.output
    (suite,) = ET.parse(tmp_path / "out.xml").getroot()
    assert (suite.get("skipped"), suite.get("failures")) == ("1", "0")
    monkeypatch.setenv("CSEB_DATA_DIR", str(grid.parent / "data"))
    assert f"skipped: no data: stsb below {grid.parent / 'data'}; cseb data fetch stsb" in call(grid).output


def test_data_that_are_there_and_damaged_are_an_error(grid: Path, senteval: Path) -> None:
    grid.write_text(grid.read_text().replace("mw-captions", "stsb"))
    data = grid.parent / "data"
    (data / "STS" / "STSBenchmark").mkdir(parents=True)
    (data / "STS" / "STSBenchmark" / "sts-dev.csv").write_text("hello\n")
    (grid.parent / "expected/grid/runs").mkdir(parents=True)
    assert call(grid, "--data-dir", data).exit_code == 2


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ("methods: simcse", "its methods have no simcse"),
        ("sizes: [64]", "its sizes have no 64"),
        ("fractions: [0.5]", "its fractions have no 0.5"),
        ("seeds: 3", "its seeds have no 3"),
        ("seed: 1", "no field is called 'check.seed'"),
    ],
)
def test_cells_that_the_grid_does_not_have_are_one_line(grid: Path, cells: str, message: str) -> None:
    grid.write_text(grid.read_text().replace("{methods: mean, sizes: [32], seeds: 1}", f"{{{cells}}}"))
    found = call(grid)
    assert (found.exit_code, len(without_progress(found.stderr))) == (2, 1)
    assert message in found.stderr
