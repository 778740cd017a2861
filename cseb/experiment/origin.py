"""Where and with what a process computes, and the memory it takes: what stands beside the scores of a record."""

from __future__ import annotations

import functools
import platform
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import torch

from cseb.encoder import linear
from cseb.records.record import Origin
from cseb.version import __version__

LIBRARIES = ("accelerate", "numpy", "scipy", "tokenizers", "torch", "transformers")


def origin(device: str, precision: str, started: datetime) -> Origin:
    """Return where and with what this process computes. precision: fp32, bf16 or fp16."""
    return Origin(
        cseb=__version__,
        commit=_commit(),
        versions={"python": platform.python_version(), **{name: version(name) for name in (*LIBRARIES, *_extras())}},
        machine=f"{platform.system()} {platform.machine()}",
        device=torch.cuda.get_device_name() if device == "cuda" else platform.processor() or platform.machine(),
        dtype=precision,
        started=started.isoformat(timespec="seconds"),
        finished=datetime.now(UTC).isoformat(timespec="seconds"),
        linear=linear.taken() if device == "cpu" else "",
    )


def _extras() -> Iterator[str]:
    """Libraries that a user may do without and that this process has loaded."""
    return (name for name in ("mteb", "sentence-transformers") if name.replace("-", "_") in sys.modules)


@functools.cache
def _commit() -> str:
    """The commit of the source tree cseb runs from, with a + if files differ from it; "" when it is installed."""
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
    """The largest resident set of this process so far, in MB."""
    with suppress(OSError):  # Linux; its getrusage counts the memory of the process that started this one too
        for line in Path("/proc/self/status").read_text("ascii", "replace").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 2**10
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)
