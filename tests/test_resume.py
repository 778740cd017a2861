"""A grid that is killed and started again ends as one that never was, and one worker finds what two find: every bit."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from cseb.records.record import Record
from cseb.records.store import Store
from tests.conftest import SENTENCES
from tests.world import WORLD

RECIPE = "recipe(steps=30,warmup=0,batch_size=16,eval_every=10,learning_rate=1e-3)"


def command(tiny: Path, corpus: Path, results: Path, workers: int = 2) -> list[str]:
    return [
        *(sys.executable, "-m", "cseb", "run", WORLD, "--results", str(results), "--encoder", str(tiny)),
        *("--methods", f"simcse+{RECIPE},micse+ami(layers=(0,1))+queue(size=16)+{RECIPE}", "--corpus", str(corpus)),
        *("--sizes", "16,24", "--seeds", "2", "--tasks", "toy-captions,toy-forum"),
        *("--workers", str(workers)),
    ]


def kept(records: list[Record]) -> dict[str, object]:
    """Everything but where and when: cost and origin are not part of a job."""
    return {record.key: record.model_dump(exclude={"cost", "origin"}) for record in records}


@pytest.mark.slow
def test_a_killed_grid_goes_on_where_it_was(tiny: Callable[[str], Path], tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("\n".join(SENTENCES), encoding="utf-8")
    whole, killed, temporary = tmp_path / "whole", tmp_path / "killed", tmp_path / "temporary"
    temporary.mkdir()
    environment = {name: value for name, value in os.environ.items() if name != "TORCHINDUCTOR_CACHE_DIR"}
    environment["TMPDIR"] = str(temporary)
    subprocess.run(command(tiny("bert"), corpus, whole, workers=1), check=True, capture_output=True, timeout=300)

    process = subprocess.Popen(
        command(tiny("bert"), corpus, killed),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        env=environment,
    )
    deadline = time.monotonic() + 200
    while len(list((killed / "runs").glob("*.json"))) < 3 and time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert not list(temporary.iterdir())
    survivors, problems = Store(killed).load()
    assert 3 <= len(survivors) < 8
    assert not problems
    before = {each.key: (killed / "runs" / f"{each.key}.json").read_bytes() for each in survivors}

    again = subprocess.run(
        command(tiny("bert"), corpus, killed), check=True, capture_output=True, text=True, timeout=300
    )
    left = 8 - len(survivors)
    assert f"{left} job{'s' if left != 1 else ''} done" in again.stdout
    assert all((killed / "runs" / f"{key}.json").read_bytes() == content for key, content in before.items())
    expected, result = Store(whole), Store(killed)
    assert kept(result.load()[0]) == kept(expected.load()[0])
    for key in (job.key for job in expected.load()[0]):
        first, other = expected.read_items(key), result.read_items(key)
        assert first.keys() == other.keys()
        assert all(np.array_equal(first[name], other[name]) for name in first)
