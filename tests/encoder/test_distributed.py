"""Several processes with a share of each batch: the loss and gradients of one process with all of it."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from cseb.encoder.distributed import DistributedContext
from cseb.records.store import Store
from tests.forked import TOGETHER, start
from tests.launchers.running import free_port
from tests.standin_processes import embeddings, gradients_and_losses
from tests.world import WORLD

Tiny = Callable[[str], Path]
SMALL = "recipe(steps=2,batch_size=8,warmup=0,learning_rate=1e-3,eval_every=1,dropout=1e-9)"
STILL = "+reconstruct(layers=1,inner=16,dropout=1e-9)"
FROM_OUTSIDE = "outside_teacher(encoder=any)"
METHODS = [  # terms that look at a whole batch, and everything else that a batch passes through
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

MORE = [  # the rest of what is trained, but for edits drawn in each process as dropout is: their terms are above
    f"continued+{SMALL}",
    f"esimcse+queue(size=16)+{SMALL}",
    f"mixcse+{SMALL}",
    f"rankcse+{SMALL}",
    f"arccse+{SMALL}",
    f"pcl+{SMALL}",
    f"diffcse+rtd(generator=self)+{SMALL}",
    f"sg-opt+gelu_mlp(width=16)+{SMALL}",
    f"mocose+momentum_nce(size=16,start=1,dropout=0.0)+{SMALL}",
    f"whitenedcse+group_whiten(groups=1)+{SMALL}",
    f"dclr+teacher(steps=2)+{SMALL}",
    f"distillcse+teacher(steps=2)+{SMALL}",
    f"rankencoder+teacher(steps=2)+{SMALL}",
    f"crops+crop(first=crop)+{SMALL}",
    f"gist+{FROM_OUTSIDE}+{SMALL}",
    f"gist-self+{SMALL}",
    f"declutr-sentence+{SMALL}",
    f"tsdae+denoise(dropout=0.0)+{SMALL}",
    f"entropy-model+{SMALL}",
    f"cosent+{SMALL}",
    f"angle+{SMALL}",
    f"sbert-regression+{SMALL}",
    *(
        f"{name}+{FROM_OUTSIDE}+{SMALL}"
        for name in ("distil-l2", "distil-mse", "distil-relational", "skd", "congen", "sct")
    ),
    f"simcse+none+matryoshka(widths=(16,4))+last_layers(count=1)+mix+{SMALL}",
    f"simcse+lora+{SMALL}",
]

FEW = METHODS[::4]  # for three processes, which a batch of eight does not fill evenly
# At a rate that makes no full step of a gradient that is rounding, as key biases have: it decides what AMI finds valid.
GENTLE = [f"{text}+recipe(learning_rate=1e-5)" for text in METHODS + MORE if text not in FEW]


def run(folder: Path, out: Path, processes: int, methods: list[str]) -> list[dict[str, torch.Tensor]]:
    """Return what `processes` real processes find, over gloo, for each method."""
    in_processes(gradients_and_losses, folder, out, processes, methods)
    return [torch.load(out / f"{number}.pt") for number in range(len(methods))]


def in_processes(
    function: Callable[[Path, Path, list[str]], None], folder: Path, out: Path, processes: int, methods: list[str]
) -> None:
    """Call the function in this number of processes, connected over gloo."""
    out.mkdir()
    port = str(free_port())
    started = {}
    for rank in map(str, range(processes)):
        names = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": str(processes), "LOCAL_WORLD_SIZE": str(processes)}
        place = names | {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port} if processes > 1 else {}
        said = out / rank
        said.mkdir()
        started[said] = start(said, function, folder, out, methods, **place)
    try:
        for said, process in started.items():
            process.join(240)
            assert process.exitcode == 0, (said / "stderr").read_text()[-3000:]
    finally:
        for process in started.values():
            process.kill()


@TOGETHER
@pytest.mark.parametrize(
    ("count", "methods"),
    [
        (2, METHODS),
        pytest.param(2, MORE, marks=pytest.mark.slow),
        pytest.param(3, FEW, marks=pytest.mark.slow),
        pytest.param(3, GENTLE, marks=pytest.mark.slow),
    ],
)
def test_loss_and_gradients_equal_one_process(tiny: Tiny, tmp_path: Path, count: int, methods: list[str]) -> None:
    alone, several = (run(tiny("bert"), tmp_path / str(each), each, methods) for each in (1, count))
    for text, single, many in zip(methods, alone, several, strict=True):
        assert single.keys() == many.keys(), text
        assert torch.allclose(single["loss"], many["loss"], rtol=1e-8), text
        assert torch.allclose(single["curve"], many["curve"], rtol=1e-6), text
        for name in single.keys() - {"loss", "curve"}:
            assert torch.allclose(single[name], many[name], rtol=1e-6, atol=1e-10), (text, name)


@TOGETHER
def test_processes_divide_the_sentences_to_encode(tiny: Tiny, tmp_path: Path) -> None:
    for count in (1, 2):
        in_processes(embeddings, tiny("bert"), tmp_path / str(count), count, [])
    alone, first, second = (np.load(tmp_path / file) for file in ("1/0.npz", "2/0.npz", "2/1.npz"))
    for other in (first, second):
        assert alone["vectors"].tobytes() == other["vectors"].tobytes()
    sentences = len(alone["vectors"])
    assert alone["encoded"] == sentences == first["encoded"] + second["encoded"]
    assert abs(first["encoded"] - second["encoded"]) < sentences / 4


@pytest.mark.parametrize(("rows", "count"), [(8, 2), (8, 3), (7, 3), (1, 2), (4, 3)])
def test_shares_cover_a_batch_and_rows_left_over_are_repeated(rows: int, count: int) -> None:
    batch = torch.arange(2 * rows).view(2, rows).flatten()  # two blocks
    pieces = [DistributedContext(rank, count).own(batch, 2) for rank in range(count)]
    assert len({len(piece) for piece in pieces}) == 1
    for block in range(2):
        joined = torch.cat([piece.chunk(2)[block] for piece in pieces])[:rows]
        assert joined.tolist() == batch.view(2, rows)[block].tolist()


def cseb(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "cseb", "run", WORLD, "--fractions", "0.01", "--seeds", "1", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=240)


@pytest.mark.slow
def test_a_job_of_two_processes_has_one_record_and_the_scores_of_one_process(tmp_path: Path) -> None:
    quiet = ("--methods", f"micse+ami+queue(dropout=1e-9)+{SMALL}+recipe(batch_size=16)", "--steps", "4")
    several = cseb(*quiet, "--processes", "2", "--results", str(tmp_path / "several"))
    assert several.returncode == 0, several.stderr
    assert several.stdout.count("1 job done") == 1
    alone = cseb(*quiet, "--workers", "1", "--results", str(tmp_path / "alone"))
    assert alone.returncode == 0, alone.stderr
    (single,), (double,) = (Store(tmp_path / name).load()[0] for name in ("alone", "several"))
    assert (single.protocol.processes, double.protocol.processes) == (1, 2)
    assert single.key != double.key
    for score, other in zip(single.scores, double.scores, strict=True):
        assert score.value == pytest.approx(other.value, abs=0.02)


def test_a_mistake_is_said_once_and_keeps_its_exit_code(tmp_path: Path) -> None:
    wrong = cseb("--methods", "simcsee", "--processes", "2", "--results", str(tmp_path))
    assert wrong.returncode == 2
    assert wrong.stderr.count("simcsee") == 1


SHORT = ("--methods", "simcse", "--steps", "3", "--device", "cpu")
ACCELERATE = (
    *("-m", "accelerate.commands.launch", "--num_processes", "2", "--num_machines", "1"),
    *("--mixed_precision", "no", "--dynamo_backend", "no"),
)


@pytest.mark.slow
def test_accelerate_and_mpi_start_the_same_job_with_the_threads_it_names(tmp_path: Path) -> None:
    bare = {name: value for name, value in os.environ.items() if not name.endswith("NUM_THREADS")}
    command = ["-m", "cseb", "run", WORLD, "--fractions", "0.01", "--seeds", "1", *SHORT, "--results"]
    two = subprocess.run(
        [sys.executable, *command, tmp_path / "own", "--processes", "2"], capture_output=True, check=True, env=bare
    )
    subprocess.run(
        [sys.executable, *ACCELERATE, "--multi_gpu", *command, tmp_path / "accelerate"], capture_output=True, check=True
    )
    port = str(free_port())
    ranks = [  # as mpirun starts them
        subprocess.Popen(
            [sys.executable, *command, tmp_path / "mpi"],
            env=bare
            | {"OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_RANK": rank, "MASTER_PORT": port}
            | {"OMPI_COMM_WORLD_LOCAL_SIZE": "2", "OMPI_COMM_WORLD_LOCAL_RANK": rank},
            stderr=subprocess.PIPE,
        )
        for rank in "01"
    ]
    heard = [process.communicate(timeout=120)[1] for process in ranks]
    assert [process.returncode for process in ranks] == [0, 0], heard
    stored = [Store(tmp_path / name).load()[0] for name in ("own", "accelerate", "mpi")]
    assert [[record.protocol.processes for record in records] for records in stored] == [[2], [2], [2]]
    assert len({records[0].key for records in stored}) == 1
    assert stored[0][0].scores == stored[1][0].scores == stored[2][0].scores
    # Accelerate says so where it sets another number of threads than the job's
    assert b"NUM_THREADS" not in b"".join([two.stderr, *heard])


def test_one_process_of_several_is_refused(tmp_path: Path) -> None:
    command = [sys.executable, *ACCELERATE, "--cpu", "-m", "cseb", "run", WORLD, *SHORT, "--results", str(tmp_path)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode != 0
    assert "has started one process of several" in ran.stderr
    assert not list(tmp_path.iterdir())
