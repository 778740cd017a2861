"""Whether a process is known to have ended; PIDs are compared together with machine and start time."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

BOOT = Path("/proc/sys/kernel/random/boot_id")
NUMBERS = Path("/proc/self/ns/pid")  # inside a container processes have other numbers
STATE, START = 0, 19  # fields of /proc/PID/stat behind the name, as proc(5) has them


@cache
def machine() -> str:
    """An identifier of this running system (boot and PID namespace), "" where there is none."""
    try:
        return f"{BOOT.read_text().strip()}/{os.readlink(NUMBERS)}".replace(" ", "")  # noqa: PTH115 (no path)
    except OSError:
        return ""


def began(process: int) -> int:
    """When a process of this machine was started, in ticks since the machine was; 0 where that cannot be told."""
    fields = _fields(process)
    return int(fields[START]) if fields else 0


def ended(process: int, where: str, start: int) -> bool:
    """Whether a process is known to have ended. where, start: its own `machine` and `began`.

    False for one on another machine, of which nothing is known here. A number may have been given to another process
    since, which has another start.
    """
    if not where or where != machine() or not start:
        return False
    fields = _fields(process)
    return not fields or int(fields[START]) != start or fields[STATE] in ("Z", "X")


def _fields(process: int) -> list[str]:
    try:
        text = Path(f"/proc/{process}/stat").read_text(errors="replace")
    except OSError:
        return []
    return text.rpartition(")")[2].split()
