"""Claims in a folder of results, as tests wait for them and leave them behind."""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from cseb.commands.status import status
from cseb.launchers.claims import folder_of
from cseb.records.store import Store

ROOT = Path(__file__).parents[2]
KILLED = """
import os, signal, sys
from pathlib import Path
from cseb.launchers.claims import Claims
from tests import standin_jobs
with Claims(Path(sys.argv[1])) as claims:
    claims.claim(standin_jobs.job("simcse"))
    os.kill(os.getpid(), signal.SIGKILL)
"""


def until(true: Callable[[], bool], seconds: float = 30.0) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)


def alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def files(store: Store) -> list[Path]:
    return sorted(folder_of(store.folder).glob("[!.]*.json"))


def shown(store: Store) -> str:
    return status(store.folder)


def leave_claim_of_killed_process(folder: Path) -> None:
    """Claim the job `simcse` with seed 0 in a process that is killed."""
    subprocess.run([sys.executable, "-c", KILLED, str(folder)], cwd=ROOT, check=False, timeout=60)


def rewrite(path: Path, age: float = 0.0, **changes: Any) -> None:
    """Change fields of a claim and its age in seconds."""
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    then = time.time() - age
    os.utime(path, (then, then))
