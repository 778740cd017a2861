"""Which processor this machine has, and one thread at a time to compute on it."""

from __future__ import annotations

import hashlib
import platform
import threading
from pathlib import Path

# Held by the thread that computes: number of threads, library and random numbers of PyTorch belong to the process.
ALONE = threading.RLock()


def processor() -> str:
    """Return this machine's processor as its kernel describes it: virtual machines may hide it behind one name."""
    try:
        first = Path("/proc/cpuinfo").read_text("utf-8", "replace").partition("\n\n")[0]
    except OSError:
        first = ""
    values = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in first.splitlines())}
    if "model name" not in values:
        return platform.processor() or platform.machine()
    which = "/".join(values.get(key, "?") for key in ("cpu family", "model", "stepping"))
    abilities = hashlib.sha256(" ".join(sorted(values.get("flags", "").split())).encode()).hexdigest()[:8]
    return f"{values['model name']} {which} {abilities}"
