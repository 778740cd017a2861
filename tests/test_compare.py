"""`cseb compare` from records on a disk, and what `--dry-run` says before the money is spent."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr
from typer.testing import CliRunner, Result

from cseb.cli import app
from cseb.cli.grid import _power
from cseb.results.store import Store
from cseb.tasks.evaluate import load_task
from tests.results.factory import record


def call(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(one) for one in arguments])


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Two methods, one share, five seeds on a task of the embedded world, with items."""
    import hashlib
    from dataclasses import replace

    data = load_task("mw-captions", None)
    gold = np.concatenate([each.gold for each in data.subsets])  # type: ignore[attr-defined]
    digest = hashlib.sha256(data.sha256().encode()).hexdigest()
    store = Store(tmp_path / "results")
    store.prepare()
    rng = np.random.default_rng(0)
    for method, noise in (("simcse", 3.0), ("micse", 1.0)):
        for seed in range(5):
            items = (gold + noise * rng.standard_normal(len(gold))).astype(np.float32)
            points = 100 * float(spearmanr(items, gold).statistic)
            one = record(method, 100, seed, values=(points,), tasks=("mw-captions@1",), dev="")
            one = one.model_copy(update={"protocol": replace(one.protocol, data=digest)})
            store.write(one, {"mw-captions@1/last": items})
    return store.folder


def test_a_folder_of_records_is_compared(results: Path) -> None:
    found = call("compare", results, "--format", "json")
    assert found.exit_code == 0, found.output
    effects = json.loads(found.stdout)[0]
    [row] = effects["rows"]
    assert (row["a"], row["b"], row["n"], row["verdict"], row["scope"]) == (
        *("simcse", "micse", 5),
        *("better", "seeds and items"),
    )
    assert row["items_low"] < row["mean"] < row["items_high"]
    assert call("compare", results, "--format", "json").stdout == found.stdout
    assert call("compare", results, "--methods", "micse,simcse", "--format", "json").stdout == found.stdout
    shown = call("compare", results, "--all-pairs", "--single-tasks", "--fraction", "0.001", "--tasks", "mw-captions")
    assert shown.exit_code == 0, shown.output
    assert "simcse - micse" in shown.stdout


def test_every_number_of_seeds_that_was_judged_is_remembered(results: Path) -> None:
    def compare() -> str:
        found = call("compare", results)
        assert found.exit_code == 0, found.output
        return found.stdout

    whole = {path: path.read_bytes() for path in (results / "runs").iterdir()}
    for path in whole:
        if json.loads(path.read_text())["seed"] > 2:
            path.unlink()
    assert "looks:" not in compare()
    assert "looks:" not in compare()  # the same results once more are no new look
    for path, content in whole.items():
        path.write_bytes(content)
    assert "looks: 2, with 3, 5 seeds" in compare()
    assert "looks: 2, with 3, 5 seeds" in compare()
    (results / "looks.json").write_text("[")
    assert "looks:" not in compare()
    (results / "looks.json").unlink()
    (results / "looks.json").mkdir()
    assert "not recorded" in compare()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--baseline", "simcs"], "did you mean simcse"),
        (["--baseline", "simcse", "--all-pairs"], "choose one"),
        (["--methods", "msse"], "no record is of the method 'msse'"),
        (["--fraction", "a"], "0.001,0.01"),
        (["--fraction", "0.7"], "known: 0.001"),
        (["--select", "first"], "'last'"),
        (["--format", "word"], "'latex'"),
        (["--select", "best"], "no dev set"),
        (["--variance"], "--vary subset"),
        (["--tasks", "mw-mixed"], "known: mw-captions"),
    ],
)
def test_what_cannot_be_compared_is_one_line_and_2(results: Path, options: list[str], words: str) -> None:
    found = call("compare", results, *options)
    assert found.exit_code == 2
    assert found.stdout == ""
    assert found.stderr.count("\n") == 1
    assert words in found.stderr


def test_too_few_seeds_are_said_before_they_are_run() -> None:
    [five] = _power(5)
    assert "exact tests cannot go below 0.0625 (6 seeds: 0.031)" in five
    assert "from 1.68 sd" in five
    assert "below 0.25 " in _power(3)[0]
    assert "no test of seeds" in _power(1)[0]
    assert _power(6) == []
    listed = call("run", "demo", "--dry-run", "--device", "cpu").stdout.splitlines()
    assert listed[-1] == five
