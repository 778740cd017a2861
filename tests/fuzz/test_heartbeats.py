from __future__ import annotations

import json
import os
import random
import shutil
import socket
import time

import pytest

from tests.fuzz.harness import Case, Fuzz
from tests.fuzz.hostile import altered, damaged, dumped, number, odd, text, value

pytestmark = pytest.mark.slow


def test_heartbeats_are_shown_or_passed_over(fuzz: Fuzz) -> None:
    fuzz.run("heartbeats", 150, _make)


def _beat(rng: random.Random, key: str) -> dict[str, object]:
    return {
        "key": key, "method": f"simcse{text(rng)}" if rng.random() < 0.3 else "simcse", "fraction": 0.08, "seed": 0,
        "host": text(rng) if rng.random() < 0.3 else socket.gethostname(), "pid": rng.choice((os.getpid(), 0, -1, 1,
        2**22, 2**63)),
        "seconds": rng.choice((0.0, 12.5, 1e308, -1.0)), "step": rng.choice((0, 5, -1, 10**30)),
        "steps": rng.choice((0, 10, -3, 10**30)),
        "loss": rng.choice((None, 1.5, 1e308)), "dev": rng.choice((None, 50.0, -1e308)),
    }  # fmt: skip


def _make(case: Case) -> None:
    rng, results = case.rng, case.folder / "results"
    shutil.copytree(case.data / "results", results)
    keys = sorted(path.stem for path in (results / "runs").iterdir())
    running = results / "running"
    running.mkdir(exist_ok=True)
    for key in rng.sample(keys, rng.randrange(1, 3)):
        if rng.random() < 0.7:
            (results / f"runs/{key}.json").unlink()
        named = key if rng.random() < 0.9 else _file_name(rng)
        path = running / f"{named}.json"
        held = _beat(rng, named)
        held = altered(rng, held) if rng.random() < 0.3 else held
        content = dumped(rng, held) if rng.random() < 0.8 else damaged(rng, json.dumps(held).encode())
        path.write_bytes(content)
        if rng.random() < 0.1:
            case.notes.append(odd(rng, path))
        elif rng.random() < 0.03:  # old, or of the future: looking at one takes seconds
            os.utime(path, (time.time() + rng.choice((-60, -(10**9), 10**8)),) * 2)
        case.notes.append(f"{named}: {content[:200]!r}")
    _beside(case, rng)
    case.then(*rng.choice((("status", "results"), ("status", "results"), ("status", "results"),
                           ("run", "demo", "--results", "results", "--dry-run"))))  # fmt: skip


def _file_name(rng: random.Random) -> str:
    """Whatever a file may be called."""
    return text(rng).translate({ord("/"): "_", 0: "_"})[:40].encode("utf-8", "replace").decode()


def _beside(case: Case, rng: random.Random) -> None:
    """What else `status` reads: who hands out jobs, what was planned, and why jobs ended without a record."""
    results = case.folder / "results"
    roll = rng.random()
    if roll < 0.2:
        path = results / f"running/{'0' * 32}.launcher"
        path.write_bytes(
            rng.choice(
                (b"", b"host 1\n", text(rng).encode("utf-8", "surrogatepass"), number(rng).encode(), b"x" * 9000)
            )
        )
        if rng.random() < 0.3:
            case.notes.append(odd(rng, path))
    elif roll < 0.5:
        path = results / "plan-microworld.tsv"
        rows = [line.split("\t") for line in path.read_text().splitlines()]
        row = rng.choice(rows)
        row[rng.randrange(len(row))] = rng.choice((number, text))(rng)
        content = "".join("\t".join(each) + "\n" for each in rows).encode("utf-8", "surrogatepass")
        path.write_bytes(content if rng.random() < 0.6 else damaged(rng, content))
        if rng.random() < 0.1:
            case.notes.append(odd(rng, path))
    elif roll < 0.6:
        case.notes.append(odd(rng, results / "running", ("nowhere", "loop", "null", "pipe", "empty")))
    elif roll < 0.8:
        (results / "broken").mkdir(exist_ok=True)
        (results / f"broken/{'a' * 16}.json").write_bytes(dumped(rng, value(rng)))
