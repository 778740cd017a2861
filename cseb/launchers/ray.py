"""Launcher for Ray: an existing cluster, or a local one for as long as the grid runs.

Ray runs a task again when its worker or its node died; this module submits jobs and reports their events.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import socket
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cseb.errors import BadBenchmark
from cseb.experiment.job import Job
from cseb.launchers.claims import Claims
from cseb.launchers.job_runner import Broken, Event, Finished, JobRunner, Started, Watch
from cseb.launchers.local import MALLOC, THREADS, WAIT
from cseb.launchers.signals import Stop, deferred_signals

# Neither usage reports nor a CUDA_VISIBLE_DEVICES that Ray changes in tasks without a GPU.
ENVIRONMENT = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
RETRIES = 3  # of a job whose worker or node died
CONNECT = 5.0  # seconds within which a cluster must accept a connection
OBJECTS = 100 << 20  # bytes of shared memory for events; Ray's own choice is a third of the machine


@dataclass(frozen=True, slots=True)
class Ray:
    """Launch jobs with Ray.

    address: HOST:PORT of a cluster, or "" to start Ray on this machine. workers: jobs at a time; None for as many as
    fit. per_gpu: jobs that share a GPU.
    """

    address: str = ""
    workers: int | None = None
    per_gpu: int = 1

    def run(self, runner: JobRunner, jobs: Sequence[Job], tell: Watch) -> None:
        """Try each job until it ends or four workers died of it. Raises: BadBenchmark if it can run nowhere."""
        if jobs:
            with self._connected(jobs[0]) as ray, Claims(runner.store.folder) as claims:

                def on_event(event: Event) -> None:
                    claims.update(event)
                    tell(event)

                _Queue(ray, runner, jobs, on_event, self, claims).run()

    @contextlib.contextmanager
    def _connected(self, job: Job) -> Iterator[Any]:
        os.environ.update(ENVIRONMENT)  # read when Ray is imported
        try:
            import ray
        except ImportError:
            raise BadBenchmark("`launcher` ray: Ray is not installed; pip install 'cseb[ray]'") from None
        _refuse_silent_address(self.address)
        options: dict[str, Any] = {"address": self.address}
        if not self.address:
            cores = (self.workers or 1) * job.protocol.threads
            options = {
                "address": "local",
                "num_cpus": cores,
                "object_store_memory": OBJECTS,
                "include_dashboard": False,
            }
        # read when torch and tokenizers are imported, and when a process starts
        variables = dict.fromkeys(THREADS, str(job.protocol.threads)) | MALLOC
        try:
            with deferred_signals() as received:  # a cluster that is half started cannot be ended
                try:
                    ray.init(
                        **options, runtime_env={"env_vars": variables}, log_to_driver=False, logging_level=logging.ERROR
                    )
                except (ConnectionError, RuntimeError, ValueError) as error:
                    raise BadBenchmark(f"no Ray at {self.address or 'this machine'}: {error}") from error
            if received:
                raise Stop
            yield ray
        finally:
            with deferred_signals():
                ray.shutdown()


def _refuse_silent_address(address: str) -> None:
    """Raises: BadBenchmark if nothing listens at HOST:PORT: Ray would try for minutes and ignore Ctrl-C."""
    if place := re.fullmatch(r"(?:ray://)?\[?([^/]+?)\]?:(\d{1,5})", address):
        try:
            socket.create_connection((place[1], int(place[2])), CONNECT).close()
        except (OSError, OverflowError, UnicodeError) as error:  # unknown host, nothing listens, or an invalid port
            raise BadBenchmark(f"no Ray at {address}: {error}; the default port of a cluster is 6379") from None


class _Queue:
    """The jobs that wait and those submitted to the cluster: never more than it can soon start."""

    def __init__(
        self, ray: Any, runner: JobRunner, jobs: Sequence[Job], tell: Watch, launcher: Ray, claims: Claims
    ) -> None:
        self.ray, self.runner, self.tell, self.workers = ray, runner, tell, launcher.workers
        self.waiting, self.claims = deque(jobs), claims
        self.running: dict[Any, str] = {}  # keys of jobs by reference of their task
        self.started: set[str] = set()  # keys
        protocol = jobs[0].protocol
        gpu = {"GPU": 1 / launcher.per_gpu} if protocol.device == "cuda" else {}
        self.resources = {"CPU": float(protocol.threads)} | gpu  # of a job, by Ray's names
        _refuse_small_nodes(ray, self.resources)
        node = ray.get_runtime_context().get_node_id()
        strategy = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(node, soft=True)
        self.buffer = (
            ray.remote(_EventBuffer).options(num_cpus=0, max_restarts=-1, scheduling_strategy=strategy).remote()
        )
        self.attempt = ray.remote(_attempt).options(
            max_retries=RETRIES, num_cpus=self.resources["CPU"], num_gpus=self.resources.get("GPU", 0)
        )

    def run(self) -> None:
        """Run until every job has ended; any exception cancels what was submitted."""
        try:
            while self.waiting or self.running:
                self._submit()
                if not self.running:  # other launchers run all jobs that are left
                    time.sleep(WAIT)
                    continue
                references = list(self.running)
                ended, _ = self.ray.wait(references, timeout=1.0)
                if ended:
                    ended, _ = self.ray.wait(references, num_returns=len(references), timeout=0)
                self._read_events()
                for reference in ended:
                    self._end(reference, _outcome(self.ray, reference, self.running[reference]))
        finally:
            with deferred_signals():
                for reference in self.running:
                    self.ray.cancel(reference, force=True)

    def _submit(self) -> None:
        """Submit twice what fits: no core waits for this process, and a cluster that grows by demand sees some."""
        most = self.workers or 2 * _capacity(self.ray, self.resources)
        while len(self.running) < most and (job := self.claims.next_job(self.waiting)) is not None:
            self.running[self.attempt.remote(self.runner, job, self.buffer, str(Path.cwd()))] = job.key

    def _read_events(self) -> None:
        """Forward the events of running jobs; if the actor is gone, only progress is lost."""
        try:
            events: list[Event] = self.ray.get(self.buffer.take.remote(), timeout=5)
        except self.ray.exceptions.RayError:
            return
        keys = set(self.running.values())
        for event in events:
            if event.key not in keys:  # of a job that has ended
                continue
            if isinstance(event, Started):
                self.started.add(event.key)
            self.tell(event)

    def _end(self, reference: Any, event: Finished | Broken) -> None:
        del self.running[reference]
        if event.key not in self.started:
            self.tell(Started(event.key))
        self.tell(event)


def _refuse_small_nodes(ray: Any, resources: dict[str, float]) -> None:
    """Raises: BadBenchmark if no node is large enough for a job: Ray would wait for one for ever."""
    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    if not any(all(node.get(name, 0) >= count for name, count in resources.items()) for node in nodes):
        wanted = " and ".join(f"{count:g} {name}" for name, count in resources.items())
        largest = ", ".join(f"{max(node.get(name, 0) for node in nodes):g} {name}" for name in resources)
        raise BadBenchmark(f"no node of the Ray cluster has {wanted} for a job; the largest have {largest}")


def _capacity(ray: Any, resources: dict[str, float]) -> int:
    """Return how many jobs fit at a time, at least one: a node that is lost may come back."""
    total = ray.cluster_resources()
    return max(1, int(min(total.get(name, 0) // count for name, count in resources.items())))


class _EventBuffer:
    """An actor on the node of this process that buffers the events of jobs."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def add(self, event: Event) -> None:
        self.events.append(event)

    def take(self) -> list[Event]:
        events, self.events = self.events, []
        return events


def _attempt(runner: JobRunner, job: Job, buffer: Any, folder: str) -> Finished | Broken:
    """Run a job in a worker of Ray. folder: working folder of the command, to which paths may be relative."""
    os.chdir(folder)
    buffer.add.remote(Started(job.key))
    return runner.attempt(job, buffer.add.remote)


def _outcome(ray: Any, reference: Any, key: str) -> Finished | Broken:
    """Return the result of a task; an event with Ray's error if its workers died or the node has no cseb."""
    try:
        event: Finished | Broken = ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        return Broken(key, "bug", str(error).strip().splitlines()[-1], str(error))
    except ray.exceptions.RayError as error:
        return Broken(key, "died", f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}")
    return event
