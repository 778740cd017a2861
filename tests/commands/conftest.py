"""A folder of results like the demo's, with two steps of training in place of fifty; and two runs with their models."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import cseb
from cseb.experiment.benchmark import load, override
from cseb.experiment.plan import plan
from cseb.experiment.run_job import run_job
from cseb.records.record import Record
from cseb.records.store import Store
from tests.command_line import printed
from tests.conftest import SENTENCES
from tests.world import WORLD

SMALL = "recipe(steps=2,warmup=0,batch_size=8,eval_every=2)"


@pytest.fixture(scope="session")
def _demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("demo") / "results"
    cseb.run(
        WORLD,
        corpus="wikipedia:7000",
        fractions=[0.01, 0.02],
        seeds=2,
        steps=2,
        tasks="toy-captions",
        workers=1,
        device="cpu",
        results=made,
    )
    return made


@pytest.fixture
def folder(_demo: Path, tmp_path: Path) -> Path:
    """A copy of one's own: commands that read may note that they have looked."""
    shutil.copytree(_demo, tmp_path / "results")
    return tmp_path / "results"


@pytest.fixture(scope="session")
def saved(tmp_path_factory: pytest.TempPathFactory, tiny: Callable[[str], Path]) -> tuple[Store, list[Record]]:
    """Two seeds of a run with their models."""
    folder = tmp_path_factory.mktemp("card")
    (folder / "corpus.txt").write_text("\n".join(SENTENCES), encoding="utf-8")
    settled = {"encoder": str(tiny("bert")), "corpus": str(folder / "corpus.txt"), "fractions": "", "sizes": "16",
               "methods": f"simcse+{SMALL}", "seeds": 2, "tasks": "toy-captions,toy-relations",
               "dev": "toy-dev"}  # fmt: skip
    store = Store(folder / "results")
    models = store.folder / "models"
    store.prepare(models)
    jobs = plan(override(load("demo"), **settled))
    return store, [run_job(job, store, lambda _: None, models) for job in jobs]


@pytest.fixture(scope="session")
def ran(tmp_path_factory: pytest.TempPathFactory, tiny: Callable[[str], Path]) -> Path:
    """Two methods, one seed; read it, do not change it."""
    folder = tmp_path_factory.mktemp("ran")
    (folder / "corpus.txt").write_text("\n".join(SENTENCES * 4))
    options = [
        *("--encoder", tiny("bert"), "--corpus", folder / "corpus.txt", "--sizes", "64", "--seeds", "1"),
        *("--methods", "simcse+ami(layers=(0,1))+recipe(steps=3,batch_size=8,warmup=0,eval_every=1),cls"),
        *("--tasks", "toy-captions,toy-mixed", "--dev", "toy-dev", "--results", folder / "results"),
        *("--device", "cpu", "--workers", "1", "--quiet"),
    ]
    printed("run", WORLD, *options)
    return folder / "results"
