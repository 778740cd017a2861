"""A folder of records as `cseb run` leaves it, made once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.command_line import call
from tests.conftest import SENTENCES


@pytest.fixture(scope="session")
def ran(tmp_path_factory: pytest.TempPathFactory, tiny: Callable[[str], Path]) -> Path:
    """Two methods, one seed; read it, do not change it."""
    folder = tmp_path_factory.mktemp("ran")
    (folder / "corpus.txt").write_text("\n".join(SENTENCES * 4))
    options = [
        *("--encoder", tiny("bert"), "--corpus", folder / "corpus.txt", "--sizes", "64", "--seeds", "1"),
        *("--methods", "simcse+ami(layers=(0,1))+recipe(steps=3,batch_size=8,warmup=0,eval_every=1),cls"),
        *("--tasks", "mw-captions,mw-mixed", "--dev", "mw-dev", "--results", folder / "results"),
        *("--device", "cpu", "--workers", "1", "--quiet"),
    ]
    result = call("run", "microworld", *options)
    assert result.exit_code == 0, result.output
    return folder / "results"
