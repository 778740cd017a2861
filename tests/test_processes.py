"""Several processes with a share of each batch: the loss and gradients of one process with all of it."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from cseb.processes import Share
from cseb.results.store import Store

Tiny = Callable[[str], Path]
SMALL = "recipe(steps=2,batch_size=8,warmup=0,learning_rate=1e-3,eval_every=1,dropout=1e-9)"
STILL = "+reconstruct(layers=1,inner=16,dropout=1e-9)"
METHODS = [  # every term that looks at a whole batch, and everything else that a batch passes through
    f"simcse+{SMALL}",
    f"simcse+infonce(negatives=zeroed)+{SMALL}",
    f"simcse-sup+{SMALL}",
    f"micse+ami(layers=(0,1))+queue(size=16,dropout=1e-9)+{SMALL}",
    f"msse{STILL}+{SMALL}",
    f"msse-literal{STILL}+{SMALL}",
    f"informin-cl-mlm+mlm(corrupt_contrast=true)+{SMALL}",
    f"informin-cl-mlm+{SMALL}",
    f"compcse+compose(first=5)+{SMALL}",
    f"ct+{SMALL}",
    f"mirror+{SMALL}",
    f"rcl-unsup+entropy_models(phis=(0.01,),steps=2,held_out=0)+{SMALL}",
    f"scd+multi_dropout(rates=(0.0,0.0))+barlow_projector(width=16)+{SMALL}",
    f"iscse+{SMALL}",
    f"sncse+{SMALL}",
    f"promptbert+{SMALL}",
    f"isbert+cnn_mean(widths=(1,3))+{SMALL}",
    f"vascl+virtual_nt_xent(neighbours=3,detach=false)+relu_mlp(width=8,rate=1.0)+{SMALL}",
]


FEW = METHODS[::4]  # for three processes, which a batch of eight does not fill evenly


def run(folder: Path, out: Path, processes: int, methods: list[str]) -> list[dict[str, torch.Tensor]]:
    """What `processes` real processes find, over gloo, for each method."""
    out.mkdir()
    script = str(Path(__file__).with_name("standin_processes.py"))
    several = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"] if processes > 1 else []
    place = {"PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, *several, script, str(folder), str(out), *methods]
    ran = subprocess.run(command, env=os.environ | place, capture_output=True, text=True, check=False, timeout=240)
    assert ran.returncode == 0, ran.stderr[-3000:]
    return [torch.load(out / f"{number}.pt") for number in range(len(methods))]


def test_loss_and_gradients_are_those_of_one_process(tiny: Tiny, tmp_path: Path) -> None:
    alone, two = (run(tiny("bert"), tmp_path / str(count), count, METHODS) for count in (1, 2))
    three = run(tiny("bert"), tmp_path / "3", 3, FEW)
    pairs = [*zip(METHODS, alone, two, strict=True), *zip(FEW, alone[::4], three, strict=True)]
    for text, one, many in pairs:
        assert one.keys() == many.keys(), text
        assert torch.allclose(one["loss"], many["loss"], rtol=1e-8), text
        assert torch.allclose(one["curve"], many["curve"], rtol=1e-3), text
        for name in one.keys() - {"loss", "curve"}:
            assert torch.allclose(one[name], many[name], rtol=1e-6, atol=1e-10), (text, name)


@pytest.mark.parametrize(("rows", "count"), [(8, 2), (8, 3), (7, 3), (1, 2), (4, 3)])
def test_shares_cover_a_batch_and_rows_left_over_are_repeated(rows: int, count: int) -> None:
    batch = torch.arange(2 * rows).view(2, rows).flatten()  # two blocks
    pieces = [Share(rank, count).own(batch, 2) for rank in range(count)]
    assert len({len(piece) for piece in pieces}) == 1
    for block in range(2):
        joined = torch.cat([piece.chunk(2)[block] for piece in pieces])[:rows]
        assert joined.tolist() == batch.view(2, rows)[block].tolist()


def cseb(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "cseb", "run", "demo", "--fractions", "0.001", "--seeds", "1", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=240)


@pytest.mark.slow
def test_a_job_of_two_processes_has_one_record_and_the_scores_of_one_process(tmp_path: Path) -> None:
    quiet = ("--methods", f"micse+ami+queue(dropout=1e-9)+{SMALL}+recipe(batch_size=16)", "--steps", "4")
    several = cseb(*quiet, "--processes", "2", "--results", str(tmp_path / "several"))
    assert several.returncode == 0, several.stderr
    assert several.stdout.count("jobs done") == 1
    alone = cseb(*quiet, "--workers", "1", "--results", str(tmp_path / "alone"))
    assert alone.returncode == 0, alone.stderr
    (one,), (two,) = (Store(tmp_path / name).load()[0] for name in ("alone", "several"))
    assert (one.protocol.processes, two.protocol.processes) == (1, 2)
    assert one.key != two.key
    for score, other in zip(one.scores, two.scores, strict=True):
        assert score.value == pytest.approx(other.value, abs=0.02)


def test_a_mistake_is_said_once_and_keeps_its_exit_code(tmp_path: Path) -> None:
    wrong = cseb("--methods", "simcsee", "--processes", "2", "--results", str(tmp_path))
    assert wrong.returncode == 2
    assert wrong.stderr.count("simcsee") == 1
