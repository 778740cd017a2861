"""Jobs on a real Ray cluster of several nodes, each with processes of its own."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from cseb.errors import BadBenchmark
from cseb.experiment.benchmark import load, override
from cseb.experiment.plan import plan
from cseb.launchers import launch
from cseb.launchers.job_runner import Broken, Event, Finished, Started
from cseb.launchers.ray import Ray
from cseb.records.store import Store
from tests import standin_jobs
from tests.launchers.running import alive
from tests.standin_jobs import jobs
from tests.world import WORLD

ROOT = Path(__file__).parents[2]
pytest.importorskip("ray", reason="Ray is not installed")
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # Ray leaves pipes to the garbage collector
    pytest.mark.xdist_group("ray"),  # one cluster is enough
]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A head and two further nodes, with room for one job each."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    from ray.cluster_utils import Cluster

    small = {"num_cpus": 1, "object_store_memory": 100 << 20, "include_dashboard": False}
    made = Cluster(initialize_head=True, head_node_args=small)
    for _ in range(2):
        made.add_node(num_cpus=1, object_store_memory=100 << 20)
    yield made
    made.shutdown()


@pytest.mark.slow
def test_what_goes_wrong_in_a_job_is_told(cluster: Any, store: Store) -> None:
    grid, events = jobs("a", "nan", "mistake", "bug", "killed"), list[Event]()
    where = Ray(cluster.address)
    summary = launch(grid, store, where, events.append, target=standin_jobs.TARGET)
    assert (summary.done, summary.failed, summary.refused) == (1, 3, 1)
    broken = {event.key: event for event in events if isinstance(event, Broken)}
    result = [(broken[job.key].kind, broken[job.key].reason) for job in grid[2:]]
    assert result[:2] == [("user", "the corpus is gone"), ("bug", "ZeroDivisionError: a bug of ours")]
    assert result[2][0] == "died"
    for job in grid:
        kinds = [type(event) for event in events if event.key == job.key]
        assert kinds[0] is Started
        assert kinds[-1] in (Finished, Broken)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("protocol", "message"),
    [
        ({"threads": 64}, r"has 64 CPU for a job; the largest have 1 CPU"),
        ({"device": "cuda"}, r"has 1 CPU and 1 GPU for a job; the largest have 1 CPU, 0 GPU"),
    ],
)
def test_a_job_that_fits_no_node_is_refused(cluster: Any, store: Store, protocol: dict[str, Any], message: str) -> None:
    (job,) = jobs("a")
    job = replace(job, protocol=replace(job.protocol, **protocol))
    with pytest.raises(BadBenchmark, match=message):
        launch([job], store, Ray(cluster.address), lambda event: None, target=standin_jobs.TARGET)


@pytest.mark.slow
def test_a_node_whose_gpu_does_not_work_trains_nothing(cluster: Any, store: Store) -> None:
    """Ray counts the GPU, but PyTorch does not find it, such as after a driver update."""
    node = cluster.add_node(num_cpus=1, num_gpus=1, object_store_memory=100 << 20)
    small = {"methods": "simcse+recipe(batch_size=8)", "fractions": "0.01", "seeds": 1, "tasks": "toy-captions"}
    (job,) = plan(override(load(WORLD), **small, steps=2))
    job = replace(job, protocol=replace(job.protocol, device="cuda"))
    events = list[Event]()
    try:
        summary = launch([job], store, Ray(cluster.address), events.append)
    finally:
        cluster.remove_node(node)
    assert (summary.done, summary.refused, store.keys()) == (0, 1, set())
    (broken,) = [event for event in events if isinstance(event, Broken)]
    assert broken.reason.startswith("this job was planned for cuda, but PyTorch finds only cpu in its process; check")


@pytest.mark.slow
def test_jobs_take_the_gpus_of_two_nodes(cluster: Any, store: Store) -> None:
    nodes = [cluster.add_node(num_cpus=2, num_gpus=2, object_store_memory=100 << 20) for _ in range(2)]
    on_gpu = replace(standin_jobs.PROTOCOL, device="cuda")
    grid = [replace(job, protocol=on_gpu) for job in jobs(*["device"] * 8)]
    try:
        summary = launch(grid, store, Ray(cluster.address), lambda event: None, target=standin_jobs.TARGET)
    finally:
        for node in nodes:
            cluster.remove_node(node)
    assert summary.done == 8
    assert {store.read(job.key).benchmark for job in grid} == {"0", "1"}


def test_no_cluster_at_the_address(store: Store) -> None:
    with pytest.raises(BadBenchmark, match="no Ray at nowhere"):
        launch(jobs("a"), store, Ray("nowhere"), lambda event: None, target=standin_jobs.TARGET)


@pytest.mark.parametrize("scheme", ["", "ray://"])
def test_nothing_listens_at_the_address(store: Store, monkeypatch: pytest.MonkeyPatch, scheme: str) -> None:
    monkeypatch.setattr("ray.init", lambda **_: pytest.fail("Ray would try for minutes"))
    with socket.socket() as unheard:
        unheard.bind(("127.0.0.1", 0))  # taken, but nobody listens
        address = f"{scheme}127.0.0.1:{unheard.getsockname()[1]}"
        with pytest.raises(
            BadBenchmark, match=f"^no Ray at {address}: .*refused; the default port of a cluster is 6379$"
        ):
            launch(jobs("a"), store, Ray(address), lambda event: None, target=standin_jobs.TARGET)


@pytest.mark.slow
def test_every_job_gets_a_record_though_a_worker_and_a_node_die(cluster: Any, store: Store) -> None:
    grid = jobs("waits", "waits", "waits", "killed-once", "a")

    def watch(_: Event) -> None:
        at_work = all(standin_jobs.tries(job, store) for job in grid[:3])
        if at_work and len(cluster.list_all_nodes()) == 3:  # each node has one that waits
            cluster.remove_node(min(cluster.worker_nodes, key=str), allow_graceful=False)
            while all(alive(pid) for job in grid[:3] for pid in standin_jobs.processes(job, store)):
                time.sleep(0.1)  # its worker outlives it for a moment
            (store.folder / "go").touch()

    summary = launch(grid, store, Ray(cluster.address), watch, target=standin_jobs.TARGET)
    assert len(cluster.list_all_nodes()) == 2
    assert (summary.done, summary.exit_code) == (5, 0)
    assert store.done(job.key for job in grid) == {job.key for job in grid}
    assert sorted(standin_jobs.tries(job, store) for job in grid[:3]) == [1, 1, 2]
    assert standin_jobs.tries(grid[3], store) == 2


@pytest.mark.slow
def test_ctrl_c_ends_a_ray_of_our_own(tmp_path: Path) -> None:
    Store(tmp_path).prepare()
    command = [sys.executable, "-m", "tests.standin_jobs", str(tmp_path), "2", "ray"]
    with subprocess.Popen(
        command, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    ) as process:
        seen: list[str] = []
        while seen.count("Started") < 3 or "Finished" not in seen:
            seen.append(process.stdout.readline().strip())
            assert seen[-1], "the program ended too early"
        ours = psutil.Process(process.pid).children(recursive=True)
        assert any("raylet" in each.name() for each in ours)
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, "")
    assert out.splitlines()[-1] == "stopped 1"
    _, alive = psutil.wait_procs(ours, timeout=10)
    assert not alive
