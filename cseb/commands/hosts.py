"""Resolve where jobs run: launcher, device and workers."""

from __future__ import annotations

import os
import re
import reprlib
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from cseb.errors import BadBenchmark, BadSpec, UnknownName, one_of

if TYPE_CHECKING:
    from cseb.launchers import Launcher

MOST = 10_000  # workers, or jobs of an allocation
MOST_PROCESSES = 256  # that share a batch; more than a batch has rows
GPU_FILES = ("/dev/nvidiactl", "/dev/kfd", "/dev/dxg")  # drivers: NVIDIA, AMD, WSL


def launcher_of(name: str, workers: int | None, details: str, per_gpu: int = 1) -> Launcher:
    """Return the launcher of this name. Raises: BadBenchmark, BadSpec, UnknownName.

    workers: jobs at a time, None if it decides. details: the address of a Ray cluster, or options of sbatch. per_gpu:
    jobs that share a GPU.
    """
    from cseb.registry import LAUNCHERS

    kind = LAUNCHERS[name]
    made: Launcher
    match name:
        case "ray":
            made = kind(details, workers, per_gpu)
        case "slurm":
            made = kind(sbatch_options(details), None, workers, per_gpu)
        case _ if details:
            raise BadBenchmark(f"`launcher` is {name}:{details}; only ray and slurm take a value behind a colon")
        case "local":
            made = kind(workers)
        case _:  # another package's
            made = kind()
    return made


def elsewhere(name: str, details: str) -> bool:
    """Return whether jobs run on other machines. Raises: UnknownName."""
    from cseb.registry import LAUNCHERS

    if name not in LAUNCHERS:
        raise UnknownName(LAUNCHERS.kind, name, LAUNCHERS)
    return name != "local" and (name != "ray" or bool(details))


def sbatch_options(text: str) -> Mapping[str, str]:
    """`partition=a,b,time=60` as names and values; a comma ends a value before another name. Raises: BadBenchmark."""
    options: dict[str, str] = {}
    for part in re.split(r",(?=[a-z_-]+=)", text) if text else []:
        match = re.fullmatch(r"([a-z][a-z_-]+)=([^\n]+)", part)
        if match is None:
            raise BadBenchmark(
                f"`launcher` slurm: {part!r} is no long option of sbatch with its value, such as time=120"
            )
        if match[1].replace("_", "-") in {name.replace("_", "-") for name in options}:
            raise BadBenchmark(f"`launcher` slurm: {match[1]} is given twice; leave one out")
        options[match[1]] = match[2]
    return options


def device_of(name: str, elsewhere: bool = False) -> str:
    """Return the device of the jobs, a part of their keys. elsewhere: it is on other machines.

    Raises: BadBenchmark, BadSpec.
    """
    one_of(("auto", "cpu", "cuda"), name, "`device`")
    if elsewhere:
        if name == "auto":
            raise BadBenchmark("jobs run on other machines: say `device` cpu or `device` cuda")
        return name
    if name == "cpu" or (
        name == "auto" and sys.platform == "linux" and not any(Path(file).exists() for file in GPU_FILES)
    ):
        return "cpu"  # said without loading torch, which takes seconds
    import torch

    if name == "cuda" and not torch.cuda.is_available():
        raise BadBenchmark("`device` cuda: torch finds no GPU here; take `device` cpu")
    return "cuda" if torch.cuda.is_available() else "cpu"


def workers_of(
    text: str, threads: int, device: str, per_gpu: int | None = None, elsewhere: bool = False, processes: int = 1
) -> int:
    """Return the number of jobs at a time: as many as cores, since threads are slower (results/speed).

    text: a number, or auto. threads: of a job. per_gpu: jobs that share a GPU. elsewhere: whether jobs run on other
    machines. processes: that share a job; several take one job at a time. Raises: BadBenchmark, BadSpec.
    """
    if processes > 1:
        if text not in ("auto", "1") or per_gpu:
            option = f"`jobs_per_gpu` {per_gpu}" if per_gpu else f"`workers` {text}"
            raise BadBenchmark(f"{processes} processes that share each batch run one job at a time; leave {option} out")
        _check_gpus(processes, device)
        return 1
    if per_gpu and (text != "auto" or device != "cuda"):
        other = f"`workers` {text}" if text != "auto" else "jobs on a CPU"
        raise BadBenchmark(f"`jobs_per_gpu` is for `workers` auto and `device` cuda, not for {other}; leave it out")
    if text != "auto":
        if not re.fullmatch(r"[0-9]{1,5}", text) or not 1 <= int(text) <= MOST:
            raise BadSpec(f"`workers` is {reprlib.repr(text)}; a whole number from 1 to {MOST}, or auto")
        return int(text)
    if elsewhere:
        return 1
    if device == "cuda":
        from cseb.launchers.local import gpus

        return max(1, len(gpus())) * (per_gpu or 1)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, cores // threads)  # a container may use fewer cores than the machine has


def _check_gpus(processes: int, device: str) -> None:
    """Raise BadBenchmark if this machine has fewer GPUs than processes that share a batch here."""
    if device != "cuda":
        return
    from cseb.launchers.local import gpus

    count, local = len(gpus()), int(os.environ.get("LOCAL_WORLD_SIZE", processes))
    if 0 < count < local:  # none at all in a dry run elsewhere
        raise BadBenchmark(
            f"{local} processes need a GPU each, and {count} can be used here; take {count} or `device` cpu"
        )
