"""The origin of a record: machine, device and versions of the software; and the memory of a process."""

from __future__ import annotations

import functools
import platform
import re
import resource
import subprocess
import sys
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import torch

from cseb.encoder import linear
from cseb.records.record import Origin
from cseb.version import __version__

DRIVER = Path("/proc/driver/nvidia/version")
LIBRARIES = ("accelerate", "numpy", "scipy", "tokenizers", "torch", "transformers")


def origin(device: str, precision: str, started: datetime, deterministic: bool = False) -> Origin:
    """Return machine and software of this process. precision: of the recipe."""
    loaded = [name for name in ("mteb", "sentence-transformers") if name.replace("-", "_") in sys.modules]
    versions = {"python": platform.python_version()} | {name: version(name) for name in (*LIBRARIES, *loaded)}
    return Origin(
        cseb=__version__,
        commit=_commit(),
        versions=versions | (_gpu_versions() if device == "cuda" else {}),
        machine=f"{platform.system()} {platform.machine()}",
        device=torch.cuda.get_device_name() if device == "cuda" else platform.processor() or platform.machine(),
        dtype=precision,
        started=started.isoformat(timespec="seconds"),
        finished=datetime.now(UTC).isoformat(timespec="seconds"),
        linear=linear.taken() if device == "cpu" else "",
        deterministic=deterministic,
    )


def _gpu_versions() -> dict[str, str]:
    """Return the versions of CUDA, cuDNN and the NVIDIA driver, as far as they are known."""
    cudnn = torch.backends.cudnn.version()  # type: ignore[no-untyped-call]
    versions = {"cuda": torch.version.cuda, "cudnn": cudnn, "driver": _driver()}
    return {name: str(number) for name, number in versions.items() if number}


def _driver() -> str:
    """Return the version of the NVIDIA driver on Linux; "" if there is none."""
    with suppress(OSError):
        if number := re.search(r"Kernel Module\D*([\d.]+)", DRIVER.read_text("ascii", "replace")):
            return number[1]
    return ""


@functools.cache
def _commit() -> str:
    """Return the commit of the source tree of cseb, with a + if files were changed; "" if cseb is installed."""
    home = Path(__file__).resolve().parents[2]
    if not (home / ".git").exists():
        return ""
    git = functools.partial(subprocess.run, cwd=home, capture_output=True, text=True, check=False)
    try:
        commit = git(["git", "rev-parse", "--short", "HEAD"])
        changed = git(["git", "status", "--porcelain", "--untracked-files=no", "cseb"])
    except OSError:
        return ""
    return commit.stdout.strip() + ("+" if changed.stdout.strip() else "")


def peak_rss_mb() -> float:
    """Return the largest resident set of this process so far, in MB."""
    with suppress(OSError):  # Linux; its getrusage counts the memory of the process that started this one too
        for line in Path("/proc/self/status").read_text("ascii", "replace").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 2**10
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)


def reset_peak_gpu_memory(device: str) -> None:
    """Start to measure the peak of the memory on a GPU; a missing GPU is reported when the training starts."""
    if device == "cuda" and torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()


def peak_gpu_mb(device: str) -> float | None:
    """Return the largest memory of tensors on the GPU since the reset, in MB; None on a CPU."""
    return torch.cuda.max_memory_allocated() / 2**20 if device == "cuda" else None
