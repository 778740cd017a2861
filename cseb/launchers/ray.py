"""Launcher for Ray: an existing cluster, or a local one for as long as the grid runs.

Ray runs a task again when its worker or its node died, so what is left here is to keep it supplied and to listen.
"""

from __future__ import annotations

import contextlib
import math
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
from cseb.launchers.events import Broken, Event, Finished, Started, Watch
from cseb.launchers.job_runner import JobRunner
from cseb.launchers.local import MALLOC, THREADS, WAIT
from cseb.launchers.signals import Stop, signals_wait

QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}  # nothing is reported to anyone
RETRIES = 3  # of a job whose worker or node died
ANSWER = 5.0  # seconds within which a cluster takes a connection, and says something
HELLO = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))  # RFC 9113, 3.4: no settings
SETTINGS = b"\4"  # the type of the frame that comes back
OBJECTS = 100 << 20  # bytes of shared memory for events; Ray's own choice is a third of the machine


@dataclass(frozen=True, slots=True)
class Ray:
    """address: HOST:PORT of a cluster, or "" for a Ray of our own. workers: jobs at a time, None for all that fit.

    per_gpu: jobs that share a GPU.
    """

    address: str = ""
    workers: int | None = None
    per_gpu: int = 1

    def run(self, runner: JobRunner, jobs: Sequence[Job], tell: Watch) -> None:
        """Try each job until it ends or four workers died of it. Raises: BadBenchmark if it can run nowhere."""
        if jobs:
            with self._connected(jobs[0]) as ray, Claims(runner.store.folder) as claims:

                def told(event: Event) -> None:
                    claims.update(event)
                    tell(event)

                _Supply(ray, runner, jobs, told, self, claims).work_off()

    @contextlib.contextmanager
    def _connected(self, job: Job) -> Iterator[Any]:
        ray = _library()
        _answers(self.address)
        where: dict[str, Any] = {"address": self.address}
        if not self.address:
            cores = (self.workers or 1) * job.protocol.threads
            where = {"address": "local", "num_cpus": cores, "object_store_memory": OBJECTS, "include_dashboard": False}
        # read when torch and tokenizers are loaded, and when a process starts
        variables = dict.fromkeys(THREADS, str(job.protocol.threads)) | MALLOC
        try:
            with signals_wait() as received:  # half a cluster cannot be ended; and Ray sets a handler of its own
                try:
                    ray.init(**where, runtime_env={"env_vars": variables}, log_to_driver=False, logging_level="ERROR")
                except (ConnectionError, RuntimeError, ValueError) as error:
                    raise BadBenchmark(f"no Ray at {self.address or 'this machine'}: {error}") from error
            if received:
                raise Stop
            yield ray
        finally:
            with signals_wait():
                ray.shutdown()


def _library() -> Any:
    os.environ.update(QUIET)  # read when it is loaded
    try:
        import ray
    except ImportError:
        raise BadBenchmark("`launcher` ray: Ray is not installed; pip install 'cseb[ray]'") from None
    return ray


def _answers(address: str) -> None:
    """Raises: BadBenchmark if no Ray listens at HOST:PORT: it would try for minutes, deaf to Ctrl-C."""
    if found := re.fullmatch(r"(?:ray://)?\[?([^/]+?)\]?:(\d{1,5})", address):
        try:
            with socket.create_connection((found[1], int(found[2])), ANSWER) as line:
                if os.environ.get("RAY_USE_TLS", "0") == "0" and not _speaks(line):
                    raise BadBenchmark(
                        f"no Ray at {address}: another service listens there; a cluster's default port is 6379, that "
                        "of ray:// 10001, and 8265 is the dashboard's"
                    )
        except (OSError, OverflowError, UnicodeError) as error:  # no such host, nobody there, or no such port
            raise BadBenchmark(f"no Ray at {address}: {error}") from None


def _speaks(line: socket.socket) -> bool:
    """Whether the peer speaks HTTP/2, as Ray does. Raises: OSError, such as a timeout."""
    line.sendall(HELLO)
    return line.recv(len(HELLO))[3:4] == SETTINGS


class _Supply:
    """The jobs that wait and those handed to the cluster: never more than it can soon start."""

    def __init__(
        self, ray: Any, runner: JobRunner, jobs: Sequence[Job], tell: Watch, where: Ray, claims: Claims
    ) -> None:
        self.ray, self.runner, self.tell, self.workers = ray, runner, tell, where.workers
        self.waiting, self.claims = deque(jobs), claims
        self.running: dict[Any, str] = {}  # keys of jobs, by what Ray calls them
        self.started: dict[str, float] = {}  # by key, when we heard of it
        self.needs = _needs(jobs[0], where.per_gpu)
        _fits(ray, self.needs)
        node = ray.get_runtime_context().get_node_id()
        here = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(node, soft=True)
        self.buffer = ray.remote(_EventBuffer).options(num_cpus=0, max_restarts=-1, scheduling_strategy=here).remote()
        cpus, gpus = self.needs["CPU"], self.needs.get("GPU", 0)
        self.attempt = ray.remote(_attempt).options(max_retries=RETRIES, num_cpus=cpus, num_gpus=gpus)

    def work_off(self) -> None:
        """Run until every job has ended; cancel what was submitted on any exit."""
        try:
            while self.waiting or self.running:
                self._hand_over()
                if not self.running:  # other launchers run all jobs that are left
                    time.sleep(WAIT)
                    continue
                if self.ray.wait(list(self.running), timeout=1.0)[0]:
                    ended = self.ray.wait(list(self.running), num_returns=len(self.running), timeout=0)[0]
                else:
                    ended = []
                self._listen()
                for reference in ended:
                    self._end(reference, _outcome(self.ray, reference, self.running[reference]))
                self._stop_late()
        finally:
            with signals_wait():
                for reference in self.running:
                    self.ray.cancel(reference, force=True)

    def _hand_over(self) -> None:
        """Twice what fits: no core waits for us, and a cluster that grows by demand sees some."""
        most = self.workers or 2 * _room(self.ray, self.needs)
        while len(self.running) < most and (job := self.claims.next_job(self.waiting)) is not None:
            self.running[self.attempt.remote(self.runner, job, self.buffer, str(Path.cwd()))] = job.key

    def _listen(self) -> None:
        """Forward the events of running jobs; if the actor is gone, only progress is lost."""
        try:
            events: list[Event] = self.ray.get(self.buffer.take.remote(), timeout=5)
        except self.ray.exceptions.RayError:
            return
        known = set(self.running.values())
        for event in events:
            if event.key not in known:  # a word that comes late
                continue
            if isinstance(event, Started):
                self.started[event.key] = time.monotonic()
            self.tell(event)

    def _end(self, reference: Any, event: Finished | Broken) -> None:
        del self.running[reference]
        if event.key not in self.started:
            self.tell(Started(event.key))
        self.tell(event)

    def _stop_late(self) -> None:
        """End jobs that hang. Raises nothing: one that has just ended is no longer there to be cancelled."""
        limit = self.runner.time_limit
        for reference, key in list(self.running.items()):
            if limit is not None and time.monotonic() - self.started.get(key, math.inf) >= limit:
                self.ray.cancel(reference, force=True)
                self._end(reference, Broken(key, "late", f"exceeded the time limit of {limit:g} s (--time-limit)"))


def _needs(job: Job, per_gpu: int) -> dict[str, float]:
    """What a job asks of its node, in Ray's words."""
    return {"CPU": float(job.protocol.threads)} | ({"GPU": 1 / per_gpu} if job.protocol.device == "cuda" else {})


def _fits(ray: Any, needs: dict[str, float]) -> None:
    """Raises: BadBenchmark if no node is large enough: Ray would wait for one for ever."""
    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    if not any(all(node.get(name, 0) >= count for name, count in needs.items()) for node in nodes):
        wanted = " and ".join(f"{count:g} {name}" for name, count in needs.items())
        largest = ", ".join(f"{max(node.get(name, 0) for node in nodes):g} {name}" for name in needs)
        raise BadBenchmark(f"no node of the Ray cluster has {wanted} for a job; the largest have {largest}")


def _room(ray: Any, needs: dict[str, float]) -> int:
    """Jobs that fit at a time, at least one: a node that is lost may come back."""
    held = ray.cluster_resources()
    return max(1, int(min(held.get(name, 0) // count for name, count in needs.items())))


class _EventBuffer:
    """An actor on our node that buffers the events of jobs until we poll."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def add(self, event: Event) -> None:
        self.events.append(event)

    def take(self) -> list[Event]:
        events, self.events = self.events, []
        return events


def _attempt(runner: JobRunner, job: Job, buffer: Any, folder: str) -> Finished | Broken:
    """Run in a worker of Ray. folder: where the command was given, to which paths may be relative."""
    os.chdir(folder)
    runner.load()  # before the clock of --time-limit starts
    buffer.add.remote(Started(job.key))
    return runner.attempt(job, buffer.add.remote)


def _outcome(ray: Any, reference: Any, key: str) -> Finished | Broken:
    """The result of a Ray task, or Ray's own error where its worker died too often or the node has no cseb."""
    try:
        event: Finished | Broken = ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        return Broken(key, "bug", str(error).strip().splitlines()[-1], str(error))
    except ray.exceptions.RayError as error:
        return Broken(key, "died", f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}")
    return event
