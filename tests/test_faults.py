"""Whatever is killed, filled up or damaged: no file is torn, no finished job is lost, and in the end nothing shows."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Literal

import numpy as np
import psutil
import pytest

from cseb.launchers import launch
from cseb.launchers.claims import folder_of
from cseb.launchers.local import Local
from cseb.records.store import Store
from tests import standin_grid
from tests.factory import stored

ROOT = Path(__file__).parents[1]
JOBS = 24
Victim = Literal["worker", "parent", "group"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """The grid as it is when nothing happens."""
    store = stored(tmp_path_factory.mktemp("whole") / "results")
    assert launch(standin_grid.grid(JOBS), store, Local(1), lambda e: None, target=standin_grid.TARGET).done == JOBS
    return store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "results")


def start(store: Store, workers: int = 2) -> subprocess.Popen[str]:
    """The program in a process group of its own."""
    command = [sys.executable, "-m", "tests.standin_grid", str(store.folder), str(workers), str(JOBS)]
    place = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    output = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    return subprocess.Popen(command, cwd=ROOT, env=place, text=True, start_new_session=True, **output)


def finish(store: Store, workers: int = 2) -> tuple[int, str]:
    with start(store, workers) as process:
        out, _ = process.communicate(timeout=120)
    return process.returncode, out


def files(store: Store) -> dict[str, bytes]:
    """Every record and its items; no visible file is torn, and where a record is, its items are."""
    records, problems = store.load()
    assert not problems
    complete = {path.stem for path in store.items.glob("[!.]*.npz") if store.read_items(path.stem)}
    assert {record.key for record in records} <= complete
    return {
        str(path.relative_to(store.folder)): path.read_bytes()
        for record in records
        for path in (store.runs / f"{record.key}.json", store.items / f"{record.key}.npz")
    }


def kept(before: dict[str, bytes], store: Store) -> dict[str, bytes]:
    """What is there now, which contains what was there before, bit for bit."""
    now = files(store)
    assert before.items() <= now.items()
    return now


def assert_as_if_nothing_had_happened(store: Store, whole: Store) -> None:
    result, expected = store.load()[0], whole.load()[0]
    assert [each.model_dump(exclude={"cost", "origin"}) for each in result] == [
        record.model_dump(exclude={"cost", "origin"}) for record in expected
    ]
    for record in expected:
        items, others = store.read_items(record.key), whole.read_items(record.key)
        assert items.keys() == others.keys()
        assert all(np.array_equal(items[name], others[name]) for name in items)
    assert not list(folder_of(store.folder).glob("[!.]*.json"))


def workers_of(pid: int) -> list[psutil.Process]:
    try:
        result = psutil.Process(pid).children(recursive=True)
        return [each for each in result if "spawn_main" in " ".join(each.cmdline())]
    except psutil.Error:
        return []


def kill(process: subprocess.Popen[str], victim: Victim, rng: random.Random) -> None:
    if victim == "parent":
        process.kill()
    elif victim == "group":
        os.killpg(process.pid, signal.SIGKILL)
    elif result := workers_of(process.pid):
        rng.choice(result).kill()


def fewer(store: Store, before: dict[str, bytes]) -> dict[str, bytes]:
    """Where the grid is nearly done, take half of it away again: there must be something left to be killed at."""
    keys = sorted(store.keys()) if store.runs.is_dir() else []
    gone = keys[::2] if len(keys) > JOBS // 2 else []
    for key in gone:
        store.remove(key)
    return {name: content for name, content in before.items() if Path(name).stem not in gone}


def stormy(store: Store, whole: Store, victims: list[Victim], seed: int) -> None:
    """Run the grid; kill each victim in turn at a random moment, looking at the folder each time; then let it end."""
    rng, before, process = random.Random(seed), dict[str, bytes](), None
    try:
        for victim in victims:
            if process is None or process.poll() is not None:
                if process is not None:
                    process.communicate()
                before = fewer(store, before)
                process = start(store)
                process.stdout.readline()  # the first job has started, or is about to
            time.sleep(rng.uniform(0.0, 0.8))
            kill(process, victim, rng)
            if victim != "worker":
                process.communicate(timeout=30)
            before = kept(before, store)
    finally:
        if process is not None:
            process.kill()
            process.communicate()
    code, out = finish(store)
    assert code == 0, out
    kept(before, store)
    assert_as_if_nothing_had_happened(store, whole)


def test_three_kills(store: Store, whole: Store) -> None:
    stormy(store, whole, ["worker", "parent", "group"], seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_thirty_six_kills(store: Store, whole: Store, seed: int) -> None:
    victims: list[Victim] = ["worker", "parent", "group"] * 4
    random.Random(seed).shuffle(victims)
    stormy(store, whole, victims, seed)


def test_damaged_records_are_made_again_and_the_others_left_alone(store: Store, whole: Store) -> None:
    finish(store, workers=1)
    keys = sorted(store.keys())
    paths = [store.runs / f"{key}.json" for key in keys[:4]]
    paths[0].write_bytes(paths[0].read_bytes()[:200])
    paths[1].write_bytes(random.Random(0).randbytes(3000))
    paths[2].write_bytes(b"")
    paths[3].write_bytes(paths[3].read_bytes().replace(keys[3].encode(), keys[5].encode()))
    stamps = {path: path.stat().st_mtime_ns for path in store.runs.iterdir() if path not in paths}
    code, out = finish(store, workers=1)
    assert (code, out.count("Finished")) == (0, 4)
    assert all(path.stat().st_mtime_ns == stamp for path, stamp in stamps.items())
    assert_as_if_nothing_had_happened(store, whole)


def test_two_launchers_at_once_and_clocks_that_jump(store: Store, whole: Store) -> None:
    """The process of a claim counts, not the age of its file."""
    first, second = (start(store, workers=1) for _ in range(2))
    rng = random.Random(0)
    while first.poll() is None or second.poll() is None:
        for path in [*store.folder.rglob("*.json"), *store.folder.rglob("*.npz")]:
            jump, now = rng.choice((-86_400.0, 0.0, 86_400.0)), time.time()
            try:
                os.utime(path, (now + jump, now + jump))
            except OSError:  # gone meanwhile
                continue
        time.sleep(0.05)
    for process in (first, second):
        out, _ = process.communicate(timeout=60)
        assert process.returncode == 0, out
    assert_as_if_nothing_had_happened(store, whole)
    assert len((store.folder.parent / "journal").read_text().split()) == JOBS
