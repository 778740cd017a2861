"""Where jobs run: what may be said of it on the command line, and that it changes no bit of a record."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

from cseb.commands import hosts
from cseb.errors import BadBenchmark, BadSpec, CsebError, UnknownName
from cseb.experiment.job import Job
from cseb.launchers.job_runner import JobRunner, Watch
from cseb.launchers.local import Local
from cseb.launchers.ray import Ray
from cseb.launchers.slurm import Slurm
from cseb.records.store import Store
from cseb.registry import LAUNCHERS
from tests import slurm_cluster, standin_jobs
from tests.conftest import SENTENCES
from tests.stderr_lines import without_progress
from tests.world import WORLD

RECIPE = "recipe(steps=30,warmup=0,batch_size=16,eval_every=10,learning_rate=1e-3)"


class Mine:
    """A launcher of another package."""

    def run(self, task: JobRunner, jobs: Sequence[Job], tell: Watch) -> None:
        raise NotImplementedError


def made(name: str, workers: int | None = None, details: str = "") -> object:
    return hosts.launcher_of(name, workers, details)


def test_a_launcher_is_made_from_its_options(monkeypatch: pytest.MonkeyPatch) -> None:
    assert made("local", 3) == Local(3)
    assert made("ray", None, "head:6379") == Ray("head:6379", None)
    options = {"partition": "a,b", "time": "1:00:00", "cpus-per-task": "8"}
    assert made("slurm", None, "partition=a,b,time=1:00:00,cpus-per-task=8") == Slurm(options)
    monkeypatch.setitem(LAUNCHERS.targets, "mine", "tests.commands.test_hosts:Mine")
    assert type(made("mine")).__name__ == "Mine"


@pytest.mark.parametrize(
    ("arguments", "kind", "said"),
    [
        (("slrum",), UnknownName, "no launcher is called 'slrum'; did you mean slurm?"),
        (("local", 1, "head:6379"), BadBenchmark, "`launcher` is local:head:6379; only ray and slurm take a value"),
        (("slurm", 1, "partition"), BadBenchmark, "'partition' is no long option of sbatch"),
        (("slurm", 1, "p=main"), BadBenchmark, "no long option"),
        (("slurm", 1, "time=5,time=9"), BadBenchmark, "time is given twice"),
        (("slurm", 1, "mem-per-cpu=5,mem_per_cpu=5"), BadBenchmark, "mem_per_cpu is given twice"),
        (("slurm", 1, "time=5,array=0-9"), BadBenchmark, "array is set by cseb itself"),
        (("slurm", 1, "ntasks-per-node=2"), BadBenchmark, "set by cseb itself"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_one_line(arguments: tuple[str, ...], kind: type[CsebError], said: str) -> None:
    with pytest.raises(kind, match=r"^[^\n]*$") as caught:
        made(*arguments)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("given", "options"),
    [
        ("nodelist=n[1-3,5],a,mem=2", {"nodelist": "n[1-3,5],a", "mem": "2"}),
        ("export=ALL,FOO=1,time=5", {"export": "ALL,FOO=1", "time": "5"}),
        ("tres-per-task=cpu=4,gres/gpu:A100=1", {"tres-per-task": "cpu=4,gres/gpu:A100=1"}),
        ("comment=a B, c", {"comment": "a B, c"}),
    ],
)
def test_a_value_of_sbatch_may_hold_commas(given: str, options: dict[str, str]) -> None:
    assert hosts.sbatch_options(given) == options


@pytest.mark.parametrize("text", ["abc", "-1", "", "0", "10001", pytest.param("9" * 5000, id="long")])
def test_workers_are_a_whole_number(text: str) -> None:
    assert hosts.workers_of("10000", 1, "cpu") == 10_000
    with pytest.raises(BadSpec, match=r"^`workers` is '.{0,30}'; a whole number from 1 to 10000, or auto$"):
        hosts.workers_of(text, 1, "cpu")


@pytest.mark.parametrize(("launcher", "package"), [("ray", "ray"), ("slurm", "submitit")])
def test_a_missing_package_is_named(
    launcher: str, package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)  # as if it were not installed
    store = Store(tmp_path)
    with pytest.raises(BadBenchmark, match=rf"pip install 'cseb\[{launcher}\]'"):
        made(launcher).run(JobRunner(standin_jobs.TARGET, store), [standin_jobs.job("a")], print)


def test_other_machines_have_devices_of_their_own() -> None:
    assert not hosts.elsewhere("local", "")
    assert not hosts.elsewhere("ray", "")
    assert hosts.elsewhere("ray", "head:6379")
    assert hosts.elsewhere("slurm", "")
    assert hosts.device_of("cuda", elsewhere=True) == "cuda"  # whatever this machine has
    with pytest.raises(BadBenchmark, match="say `device` cpu or `device` cuda"):
        hosts.device_of("auto", elsewhere=True)
    with pytest.raises(UnknownName, match="no launcher is called 'slrum'"):  # rather than to ask for a device
        hosts.elsewhere("slrum", "")


def run(tiny: Path, corpus: Path, results: Path, *options: str) -> Store:
    command = [
        *(sys.executable, "-m", "cseb", "run", WORLD, "--results", str(results), "--encoder", str(tiny)),
        *("--device", "cpu", "--methods", f"simcse+{RECIPE}", "--corpus", str(corpus), "--sizes", "16", "--seeds", "2"),
        *("--tasks", "toy-captions,toy-forum", *options),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)
    outlook = ["2 jobs, 2 to run. Run time unknown."]
    assert (done.returncode, without_progress(done.stderr)) == (0, outlook), done.stderr + done.stdout
    assert "2 jobs done" in done.stdout
    return Store(results)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hosts")
    (folder / "corpus.txt").write_text("\n".join(SENTENCES), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def local(tiny: Callable[[str], Path], place: Path) -> Store:
    return run(tiny("bert"), place / "corpus.txt", place / "local", "--workers", "1")


@pytest.fixture(params=["ray", pytest.param("slurm", marks=pytest.mark.slurm)])
def options(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """What to say for each launcher but the one of this machine."""
    with ExitStack() as stack:
        if request.param == "ray":
            pytest.importorskip("ray", reason="Ray is not installed")
            yield ["--launcher", "ray", "--workers", "2"]
            return
        pytest.importorskip("submitit", reason="submitit is not installed")
        if why := slurm_cluster.missing():
            pytest.skip(f"no Slurm: {why}")
        folder = stack.enter_context(slurm_cluster.slurm())
        monkeypatch.setenv("SLURM_CONF", str(folder / "slurm.conf"))
        monkeypatch.setenv("PATH", os.pathsep.join((os.environ["PATH"], "/usr/sbin")))
        yield ["--launcher", "slurm:partition=main,time=5,cpus-per-task=2"]


@pytest.mark.slow
@pytest.mark.xdist_group("hosts")
def test_a_launcher_changes_no_bit(local: Store, options: list[str], tiny: Callable[[str], Path], place: Path) -> None:
    result = run(tiny("bert"), place / "corpus.txt", place / options[1], *options)
    records = [
        {record.key: record.model_dump(exclude={"cost", "origin"}) for record in store.load()[0]}
        for store in (local, result)
    ]
    assert records[0] == records[1]
    for key in records[0]:
        record, other = local.read_items(key), result.read_items(key)
        assert record.keys() == other.keys()
        assert all(np.array_equal(record[name], other[name]) for name in record)
