"""`cseb check` from the outside: three questions, and what it stores."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from cseb.records.store import Store
from cseb.regression.expected import FILE
from tests import command_line
from tests.conftest import SENTENCES
from tests.stderr_lines import without_progress


def call(*arguments: object) -> Result:
    options = ["--workers", 1]
    return command_line.call("check", *arguments, *options)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, tiny: Callable[[str], Path]) -> Path:
    """A benchmark with expected records; tests change copies of these."""
    folder = tmp_path_factory.mktemp("check")
    (folder / "corpus.txt").write_text("\n".join(SENTENCES))
    (folder / "mine.yaml").write_text(
        f"name: mine\nmethods: cls\nencoder: {tiny('bert')}\ncorpus: {folder / 'corpus.txt'}\nsizes: [32]\nseeds: 1\n"
        "tasks: toy-captions,toy-mixed\ntolerance: 0.5\n"
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
    content = json.loads(path.read_bytes())
    change(content)
    path.write_text(json.dumps(content))


def record_of(benchmark: Path) -> Path:
    return next((benchmark.parent / "expected/mine/runs").iterdir())


def shift(points: float) -> Callable[[Any], None]:
    def change(content: Any) -> None:
        for score in content["scores"]:
            score["value"] += points

    return change


def test_the_same_job_comes_back_bit_for_bit(benchmark: Path) -> None:
    result = call(benchmark)
    assert result.exit_code == 0, result.output
    assert result.output.splitlines()[-2:] == [
        "code: did a change of the code change a number? "
        "no; 1 of 1 cell as expected, 1 of them identical to the last bit",
        "drift: did scores move by more than repeated runs do? "
        "no; 2 of 2 cells as expected, 2 of them identical to the last bit",
    ]


@pytest.mark.parametrize(("points", "drifts"), [(0.6, True), (0.01, False)])
def test_a_changed_number_is_code_and_beyond_the_limit_drift(benchmark: Path, points: float, drifts: bool) -> None:
    edit(record_of(benchmark), shift(points))
    result = call(benchmark)
    assert result.exit_code == 1
    assert "BAD cls 50 % seed 0  toy-captions@1 best: " in result.output
    assert ("BAD cls 50 % seed 0 last" in result.output) is drifts
    assert "allowed ±0.5" in result.output


def test_one_bit_of_an_item_is_a_change_of_code(benchmark: Path) -> None:
    path = benchmark.parent / "expected/mine" / FILE
    edit(path, lambda content: content["items"].update(dict.fromkeys(content["items"], "0" * 32)))
    result = call(benchmark)
    assert result.exit_code == 1
    assert "BAD cls 50 % seed 0  items of the best checkpoint" in result.output


def test_on_another_machine_code_is_not_asked_and_drift_decides(benchmark: Path) -> None:
    path = benchmark.parent / "expected/mine" / FILE
    edit(path, lambda content: content["conditions"].update(cpu="a machine of long ago"))
    edit(record_of(benchmark), shift(0.01))
    result = call(benchmark)
    assert result.exit_code == 0, result.output
    assert "cpu is " in result.output
    assert "a machine of long ago there" in result.output
    edit(record_of(benchmark), shift(0.6))
    assert call(benchmark).exit_code == 1


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
        "seeds: 2\ntasks: toy-captions\ntolerance: 0.5\ncheck: {methods: mean, sizes: [32], seeds: 1}\n"
    )
    return tmp_path / "grid.yaml"


def test_a_tuned_benchmark_is_checked_without_its_trials(grid: Path) -> None:
    text = (
        grid.read_text()
        .replace("methods: cls, mean", "methods: simcse, mean")
        .replace("methods: mean", "methods: simcse")
    )
    grid.write_text(text + "scale: recipe(steps=1, batch_size=4, warmup=0)\ndev: toy-dev\ntune: {}\n")
    made = call(grid, "--update", "--data-dir", grid.parent / "data")
    assert made.exit_code == 0, made.output
    (record,) = Store(grid.parent / "expected/grid").load()[0]
    assert (record.method, record.tuning) == ("simcse", None)


def test_only_the_cells_that_a_benchmark_names_are_checked(grid: Path) -> None:
    data = ["--data-dir", grid.parent / "data"]
    made = call(grid, "--update", *data)
    assert made.exit_code == 0, made.output
    expected = Store(grid.parent / "expected/grid")
    (record,) = expected.load()[0]
    assert (record.method, record.subset.size, record.seed) == ("mean", 32, 0)
    result = call(grid, *data)
    assert result.exit_code == 0, result.output
    assert "no; 1 of 1 cell as expected, 1 of them identical to the last bit" in result.output


def test_without_data_it_is_skipped(
    grid: Path, senteval: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grid.write_text(grid.read_text().replace("toy-captions", "stsb,toy-captions"))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "no-cache"))
    monkeypatch.delenv("CSEB_DATA_DIR", raising=False)
    nowhere = call(grid)
    assert nowhere.exit_code == 0, nowhere.output
    assert "code: did a change of the code change a number? not checked" in nowhere.output
    assert "--  all  skipped: no data: wiki1m-head, stsb in the caches; make it: head" in nowhere.output
    partly = call(grid, "--data-dir", senteval)
    assert f"skipped: no data: wiki1m-head below {senteval}; make it: head -n 11913" in partly.output
    monkeypatch.setenv("CSEB_DATA_DIR", str(grid.parent / "data"))
    assert f"skipped: no data: stsb below {grid.parent / 'data'}; cseb data fetch stsb" in call(grid).output


def test_data_that_are_there_and_damaged_are_an_error(grid: Path, senteval: Path) -> None:
    grid.write_text(grid.read_text().replace("toy-captions", "stsb"))
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
    result = call(grid)
    assert (result.exit_code, len(without_progress(result.stderr))) == (2, 1)
    assert message in result.stderr
