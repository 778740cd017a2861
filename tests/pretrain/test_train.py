"""Tests of pre-training runs as a user starts them."""

import hashlib
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForPreTraining, AutoTokenizer

from benchmarks.pretrain.checkpoints import State
from benchmarks.pretrain.train import WARMUP, rate
from cseb import open_data

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with two small files, their list, and the prepared text."""
    folder, listed = tmp_path_factory.mktemp("text"), []
    sentences = list(open_data.lines("corpora/wikipedia.txt")[:12000])
    for name, kind, lines in (("wiki_all", "running", sentences[:4000]), ("talk", "lines", sentences[4000:])):
        content = "".join(f"{line}\n" for line in lines).encode()
        (folder / f"{name}.txt").write_bytes(content)
        facts = f"text: {kind}, used: true, genre: {kind}, sha256: {hashlib.sha256(content).hexdigest()}"
        listed.append(f"{name}: {{{facts}}}\n")
    (folder / "list.yaml").write_text("".join(listed))
    command = ["--sources-folder", folder, "--sources", folder / "list.yaml", "--out", folder / "text", "--pieces", 600]
    finish(start("text", *command))
    finish(start("vectors", folder / "text"))
    return folder


def start(module: str, *arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", f"benchmarks.pretrain.{module}", *map(str, arguments)]
    return subprocess.Popen(command, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def train(sources: Path, out: Path, *more: object) -> subprocess.Popen[str]:
    options = ["--tokens", 1024, "--short-rows", 0, "--look-every", 20, "--save-every", 0, "--size", "tiny"]
    return start("train", "--text", sources / "text", "--out", out, *options, *more)


def finish(process: subprocess.Popen[str], code: int = 0) -> str:
    """Wait for a process and return its standard error."""
    _, err = process.communicate(timeout=240)
    assert process.returncode == code, err
    return err


def interrupt(process: subprocess.Popen[str], number: int) -> None:
    """Send a signal after the next held-out figures."""
    assert any("held-out masked-word loss" in line for line in process.stdout), process.communicate()[1]
    process.send_signal(number)
    process.communicate(timeout=60)


def weights(run: Path) -> bytes:
    return (run / "encoder" / "model.safetensors").read_bytes()


def test_the_rate_rises_stays_and_decays() -> None:
    stable, decaying = State(), State(step=9 * WARMUP, decay_from=9 * WARMUP)
    steps = (0, WARMUP // 2 - 1, WARMUP - 1, 50 * WARMUP)
    assert [rate(step, stable, 2.0) for step in steps] == pytest.approx([2 / WARMUP, 1.0, 2.0, 2.0])
    steps = (9 * WARMUP, 9 * WARMUP + WARMUP // 4, 10 * WARMUP)
    assert [rate(step, decaying, 2.0) for step in steps] == pytest.approx([2.0, 1.0, 0.0])
    restarted = State(step=70 * WARMUP, warmed_from=70 * WARMUP)
    assert rate(70 * WARMUP, restarted, 2.0) == pytest.approx(2 / WARMUP)


@pytest.mark.slow
def test_an_interrupted_run_and_its_decay_end_with_the_same_bits(sources: Path, tmp_path: Path) -> None:
    whole, parts, until = tmp_path / "whole", tmp_path / "parts", ("--until", 0.1)
    finish(train(sources, whole, *until))
    interrupt(train(sources, parts, *until), signal.SIGKILL)
    newest = parts / "checkpoint.pt"
    newest.write_bytes(newest.read_bytes()[:-1000])  # as if the disk had been full: the one before it is used
    process = train(sources, parts, *until)
    interrupt(process, signal.SIGTERM)
    assert process.returncode == 1
    finish(train(sources, parts, *until))
    decay = ("--decay-from", whole)
    finish(train(sources, tmp_path / "whole-decayed", *decay))
    finish(train(sources, tmp_path / "parts-decayed", "--decay-from", parts))
    assert weights(tmp_path / "whole-decayed") == weights(tmp_path / "parts-decayed")
    log = (tmp_path / "whole-decayed" / "log.csv").read_text().splitlines()
    assert log == (tmp_path / "parts-decayed" / "log.csv").read_text().splitlines()
    steps, losses = [int(line.split(",")[0]) for line in log[1:]], [float(line.split(",")[2]) for line in log[1:]]
    assert steps[-1] == 97 + 97 // 9
    assert losses[-1] < losses[0]
    assert "has decayed" in finish(start("stage", tmp_path / "whole-decayed", tmp_path / "stage"), 2)
    assert "rate 0.001, now 0.0001" in finish(train(sources, parts, *until, "--rate", "1e-4"), 2)
    (tmp_path / "whole-decayed" / "run.json").unlink()  # as if killed behind the last checkpoint
    finish(train(sources, tmp_path / "whole-decayed", *decay))
    check_export(sources, tmp_path / "whole-decayed", tmp_path)


def check_export(sources: Path, run: Path, folder: Path) -> None:
    model = AutoModelForPreTraining.from_pretrained(run / "encoder")
    assert model.config.vocab_size == len(AutoTokenizer.from_pretrained(run / "encoder")) == 600
    assert model.config.hidden_dropout_prob == 0.1
    shipped, data = folder / "our-bert", folder / "data" / "STS"
    data.mkdir(parents=True)
    sentence = (sources / "talk.txt").read_text().splitlines()[0]
    (data / "pairs.txt").write_text(f"4.0\t{sentence}\tNobody has ever written this sentence down.\n")
    listed = ("--sources-folder", sources, "--sources", sources / "list.yaml")
    finish(start("export", run, *listed, "--evaluation", data.parent, "--to", shipped))
    card = (shipped / "README.md").read_text()
    assert "| STS | 2 | 1 |" in card
    assert "began with counts of co-occurrence" in card
    assert hashlib.sha256((shipped / "model.safetensors").read_bytes()).hexdigest() in card
    half = AutoModelForPreTraining.from_pretrained(shipped)
    assert half.dtype == torch.float32
    assert torch.equal(half.bert.pooler.dense.weight, model.bert.pooler.dense.weight.half().float())


@pytest.mark.slow
def test_a_run_restarts_from_a_small_restart_point(sources: Path, tmp_path: Path) -> None:
    run, stage, again = tmp_path / "run", tmp_path / "stage", tmp_path / "again"
    finish(train(sources, run, "--until", 0.05))
    finish(start("stage", run, stage))
    assert sum(path.stat().st_size for path in stage.iterdir()) < (run / "checkpoint.pt").stat().st_size / 4
    finish(train(sources, again, "--until", 0.06, "--restart", stage))
    log = [line.split(",") for line in (again / "log.csv").read_text().splitlines()]
    assert [line[0] for line in log[1:]] == ["20", "40", "48", "58"]
    assert float(log[-1][2]) == pytest.approx(float(log[-2][2]), abs=0.2), "weights were kept"
    facts = json.loads((stage / "stage.json").read_text())
    assert facts["state"]["step"] == 48
    other = train(sources, tmp_path / "other", "--until", 0.06, "--restart", stage, "--seed", 1)
    assert "seed 0, now 1" in finish(other, 2)
    none = train(sources, tmp_path / "other", "--until", 0.06, "--restart", tmp_path)
    assert "has no stage.json" in finish(none, 2)
