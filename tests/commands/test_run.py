"""The command line: its words, its exit codes, and a small grid from the first job to the table."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import cseb
from cseb.commands import describe, screen
from cseb.errors import BadBenchmark, BadData
from cseb.experiment import benchmark as benchmarks
from cseb.records.record import Record
from cseb.records.store import Store
from cseb.text import aligned
from tests.command_line import call, printed, refused
from tests.conftest import SENTENCES
from tests.stderr_lines import without_progress
from tests.world import WORLD

ROOT = Path(__file__).parents[2]


def process(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "cseb", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.fixture
def grid(tmp_path: Path, tiny: Callable[[str], Path]) -> list[object]:
    """Options of a grid that runs in seconds."""
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("\n".join(SENTENCES * 4))
    return [
        *(WORLD, "--encoder", tiny("bert"), "--corpus", corpus, "--sizes", "64", "--seeds", "1"),
        *("--tasks", "toy-captions"),
        *("--methods", "simcse+recipe(steps=3,batch_size=8,warmup=0),cls", "--results", tmp_path / "results"),
        *("--device", "cpu", "--workers", "1"),
    ]


def records(tmp_path: Path) -> list[Record]:
    return Store(tmp_path / "results").load()[0]


def test_version_and_help() -> None:
    assert call("--version").stdout == f"cseb {cseb.__version__}\n"
    for command in ("run", "report", "show", "eval", "status", "check"):
        assert call(command, "--help").exit_code == 0


def test_real_processes_exit_with_the_same_codes() -> None:
    assert process("run", "dmo").returncode == 2
    assert process("run", "--seeds", "0").returncode == 2
    assert process("no-such-command").returncode == 2
    result = process("show", "methods")
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.splitlines()[0].startswith("cls")


@pytest.mark.parametrize("kind", describe.LISTINGS)
def test_lists_name_each_thing_on_a_line_of_its_own(kind: str) -> None:
    lines = call("show", kind).stdout.splitlines()
    assert [line.split()[0] for line in lines] == [name for name, _ in describe.LISTINGS[kind]()]
    assert lines


def test_show_says_all_there_is_to_know() -> None:
    text = call("show", "micse+recipe(steps=500)").stdout
    assert "micse+recipe(steps=500)" in text
    for words in ("Klein & Nabi", "data seen", "ami(weight=0.0025,", "steps=500", "up to 0.1 %", "eq. 2 sums"):
        assert words in text
    assert "76.40 +- 0.48 (n=5)  micse, Table 2" in call("show", "micse").stdout
    assert "nothing is trained" in call("show", "cls").stdout


def test_folded_text_fits_and_keeps_its_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for text in (describe.show("micse"), "\n".join(aligned(describe.LISTINGS["methods"]()))):
        folded = screen.folded(text)
        assert max(map(len, folded.splitlines())) <= 80
        assert folded.split() == text.split()


def test_a_sample_is_what_a_run_trains_on(tmp_path: Path, grid: list[object]) -> None:
    corpus = tmp_path / "corpus.txt"
    drawn = call("data", "sample", corpus, "--size", 64, "--seed", 0).stdout.splitlines()
    assert len(drawn) == 64
    out = tmp_path / "drawn.txt"
    assert call("data", "sample", corpus, "--size", 0.25, "--out", out).exit_code == 0
    assert out.read_text().splitlines() == drawn
    assert call("run", *grid).exit_code == 0
    manifest = json.loads(Path(f"{out}.json").read_text())
    assert {record.subset.sha256 for record in records(tmp_path)} == {manifest["subset_sha256"]}


def test_a_sample_of_a_known_file_is_found_below_the_data_folder(tmp_path: Path) -> None:
    (tmp_path / "wiki").mkdir()
    (tmp_path / "wiki" / "wiki1m_head.txt").write_text("".join(f"sentence {n}\n" for n in range(9)))
    drawn = call("data", "sample", "data:wiki1m_head.txt", "--size", 9, "--data-dir", tmp_path).stdout.splitlines()
    assert sorted(drawn) == [f"sentence {n}" for n in range(9)]


def test_a_grid_from_the_first_job_to_the_table(tmp_path: Path, grid: list[object]) -> None:
    listed = call("run", *grid, "--dry-run")
    assert "2 jobs, 2 to run. Run time unknown." in listed.stdout
    assert not (tmp_path / "results").exists()

    first = printed("run", *grid, "--save-models")
    assert first.splitlines()[0].startswith("[1/2] simcse+recipe(steps=3,batch_size=8,warmup=0) 25 % seed 0: best ")
    assert first.splitlines()[-1].startswith("2 jobs done; next: cseb report")
    finished = {record.key: record.origin.finished for record in records(tmp_path)}
    assert {path.name for path in (tmp_path / "results" / "models").iterdir()} == set(finished)
    resolved = tmp_path / "results" / "benchmark-world.yaml"
    assert benchmarks.load(str(resolved)).sizes == (64,)

    again = printed("run", *grid)
    assert again.startswith("all 2 jobs have records")
    assert "0 to run" in call("run", *grid, "--dry-run").stdout
    removed, other = Store(tmp_path / "results").runs.iterdir()
    removed.unlink()
    before = other.stat().st_mtime_ns
    assert call("run", resolved, *grid[-6:]).stdout.splitlines()[-1].startswith("1 job done")  # the file is the grid
    assert other.stat().st_mtime_ns == before
    assert "2 to run. Expected run time: " in call("run", *grid, "--dry-run", "--rerun", "all").stdout
    assert call("run", *grid, "--rerun", "all", "--quiet").stdout == ""
    assert other.stat().st_mtime_ns > before

    latex = printed("report", tmp_path / "results", "--format", "latex")
    assert r"\toprule" in latex
    assert "missing" not in latex
    for options in (["--format", "csv"], ["--checkpoint", "both"], ["--table", "tasks", "--checkpoint", "last"]):
        assert call("report", tmp_path / "results", *options).exit_code == 0


def test_models_that_are_missing_are_made_and_no_others(tmp_path: Path, grid: list[object]) -> None:
    results = tmp_path / "my results"
    where = [*grid, "--methods", "cls,mean", "--results", results]
    assert call("run", *where).stdout.splitlines()[-1].endswith(f"next: cseb report '{results}'")
    (results / "models").touch()
    result = call("run", *where, "--save-models")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "models cannot be a folder: the path or a parent is a file" in result.stderr
    (results / "models").unlink()
    assert call("run", *where, "--save-models").stdout.splitlines()[-1].startswith("2 jobs done")
    first, second = (results / "models").iterdir()
    (first / "config.json").unlink()
    first.rename(results / "elsewhere")
    assert call("run", *where, "--save-models").stdout.splitlines()[-1].startswith("1 job done")
    assert (first / "config.json").is_file()
    assert second.is_dir()
    assert call("run", *where, "--save-models").stdout.startswith("all 2 jobs have records")


def test_a_part_that_does_not_fit_the_encoder_is_refused_before_writing(tmp_path: Path, grid: list[object]) -> None:
    result = call("run", *grid, "--methods", "simcse+ami(layers=(7,9))")
    assert (result.exit_code, "layers" in result.stderr) == (2, True)
    assert not (tmp_path / "results").exists()


def test_a_task_file_is_said_aloud(tiny: Callable[[str], Path], tmp_path: Path) -> None:
    path = tmp_path / "my.tsv"
    path.write_text("a man\tthe dog\t1\na cat\tthe park\t2\na dog\tfood\t4\n")
    result = call("eval", tiny("bert"), "--tasks", path, "--pooler", "mean", "--results", tmp_path / "results")
    assert result.exit_code == 0, result.output
    assert without_progress(result.stderr) == [
        "my.tsv: interpreted as pairs, 3 rows (first: 1, second: 2, score: 3); spearman@1"
    ]
    assert "my.tsv" in result.stdout


def test_ctrl_c_says_how_to_go_on_and_leaves_130(tmp_path: Path, grid: list[object]) -> None:
    long = ["--methods", "simcse+recipe(steps=100000,batch_size=8)", "--seeds", "2"]
    command = [sys.executable, "-m", "cseb", "run", *map(str, grid), *long]
    running = subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    deadline = time.monotonic() + 120
    while not any((tmp_path / "results/running").glob("*.json")):  # the claim of a job
        assert running.poll() is None, running.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.1)
    os.killpg(running.pid, signal.SIGINT)
    try:
        out, err = running.communicate(timeout=30)
    finally:
        running.kill()
    assert running.returncode == 130, (out, err)
    assert "stopped: 0 of 2 jobs run; repeat the command to continue" in out
    assert "Traceback" not in err, err


DROPPED = "Dropped()"  # an exception in a `__del__`, which Python drops


def interrupted(module: str, sent: str, folder: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run the command and send it Ctrl-C where it looks for a module."""
    (folder / "sitecustomize.py").write_text(f"""
import os, signal, sys
KILL = "os.kill(os.getpid(), signal.SIGINT)"
class Dropped:
    def __del__(self):
        exec(KILL)
class Finder:
    def find_spec(self, name, path, target=None):
        if name == {module!r}:
            {sent}
sys.meta_path.insert(0, Finder())
""")
    return subprocess.run(
        [sys.executable, "-m", "cseb", *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), *sys.path])},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.mark.parametrize("module", ["typer", "numpy"])  # one loaded by all commands, one by `run` alone
@pytest.mark.parametrize("sent", ["exec(KILL)", DROPPED])
def test_ctrl_c_while_modules_are_loaded_is_quiet(module: str, sent: str, tmp_path: Path) -> None:
    """In an `exec`, as when a dataclass is made, Python likes to end by a signal."""
    result = interrupted(module, sent, tmp_path, "run", "--dry-run")
    assert (result.returncode, result.stdout, result.stderr) == (130, "", "")


def test_a_dropped_ctrl_c_stops_a_grid(tmp_path: Path, grid: list[object]) -> None:
    long = ["--methods", "simcse+recipe(steps=100000,batch_size=8)", "--seeds", "1", "--workers", "1"]
    result = interrupted("cseb.experiment.run_job", DROPPED, tmp_path, "run", *grid, *long)
    assert result.returncode == 130, result.stderr
    assert "stopped: 0 of 1 job run; repeat the command to continue" in result.stdout
    assert "Traceback" not in result.stderr


def test_a_dry_run_lists_what_is_missing_and_needs_no_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    monkeypatch.delenv("CSEB_DATA_DIR", raising=False)
    result = call("run", "micse-table1", "--dry-run", "--device", "cuda", "--data-dir", tmp_path)
    assert result.exit_code == 2
    rows = {line.split()[1]: line for line in result.stderr.splitlines()[1:-1]}
    assert list(rows) == [
        *("bert-base-uncased", "hub:princeton-nlp/datasets-for-simcse/wiki1m_for_simcse.txt"),
        *("sts12", "sts13", "sts14", "sts15", "sts16", "stsb", "sick"),
    ]
    assert rows["stsb"].endswith("cseb data fetch stsb (part of senteval.tar)") and " 8,628 " in rows["stsb"]
    assert "9 inputs of the run cannot be read: bert-base-uncased, " in result.stderr
    listed = call("run", WORLD, "--methods", "cls", "--seeds", "1", "--dry-run", "--device", "cuda")
    assert listed.exit_code == 0 and "how to get it" not in listed.stderr
    for option in (("--corpus", "hub:./folder/train.jsonl"), ("--encoder", "a--b/c")):  # no names of the hub
        refused_run = call("run", "demo", *option, "--dry-run")
        assert refused_run.exit_code == 2 and option[1].partition(":")[2] in refused_run.stderr


def test_a_dry_run_says_what_is_wrong_with_generated_sentences_that_are_here(tmp_path: Path) -> None:
    (tmp_path / "written.jsonl").write_text('{"sent0": "a", "sent1": "b", "hard_neg": "c"}\n')
    options = ("--corpus", f"generated:{tmp_path / 'written.jsonl'}", "--sizes", "1", "--dry-run")
    assert "written.provenance.yaml" in refused("run", "demo", *options)


def test_a_list_of_sentences_is_no_corpus_of_a_grid() -> None:
    with pytest.raises(BadData, match="`corpus` is no name"):
        cseb.run(methods="simcse", corpus=["a sentence"], workers=1)


@pytest.mark.parametrize("option", ["methods", "tasks"])
def test_an_empty_list_is_not_taken_as_none(option: str) -> None:
    with pytest.raises(BadBenchmark, match=f"`{option}` is empty; name at least one, or leave it out"):
        cseb.run(**{option: []}, workers=1)
