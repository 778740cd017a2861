"""Pre-training as a person starts it: killed and continued, its bits are those of a run that was never stopped."""

import hashlib
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForPreTraining, AutoTokenizer

from cseb import open_data

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Two small files and their list, as options."""
    folder, listed = tmp_path_factory.mktemp("text"), []
    sentences = list(open_data.lines("corpora/wikipedia.txt")[:6000])
    for name, kind, lines in (("wiki_all", "running", sentences[:4000]), ("talk", "lines", sentences[4000:])):
        content = "".join(f"{line}\n" for line in lines).encode()
        (folder / f"{name}.txt").write_bytes(content)
        listed.append(f"{name}: {{text: {kind}, used: true, sha256: {hashlib.sha256(content).hexdigest()}}}\n")
    (folder / "list.yaml").write_text("".join(listed))
    return ["--text", str(folder), "--sources", str(folder / "list.yaml"), "--pieces", "600"]


def start(sources: list[str], out: Path, *more: str, processes: int = 1) -> subprocess.Popen[str]:
    launcher = ["-m", "torch.distributed.run", "--nproc-per-node", str(processes)] if processes > 1 else []
    command = [
        sys.executable,
        *launcher,
        "-m",
        "benchmarks.pretrain.train",
        *sources,
        "--out",
        str(out),
        "--size",
        "tiny",
    ]
    options = ["--tokens", "1024", "--passes", "0.5", "--look-every", "20", "--save-every", "0", *more]
    return subprocess.Popen([*command, *options], cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def finished(process: subprocess.Popen[str]) -> str:
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return out


def killed_after_the_next_look(process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        if "held-out masked-word loss" in line:
            break
    else:
        raise AssertionError(process.communicate()[1])
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=30)


@pytest.mark.slow
def test_a_run_killed_three_times_ends_with_the_bits_of_one_that_was_not(sources: list[str], tmp_path: Path) -> None:
    finished(start(sources, tmp_path / "whole"))
    for _ in range(2):
        killed_after_the_next_look(start(sources, tmp_path / "killed"))
    newest = tmp_path / "killed" / "checkpoint.pt"
    newest.write_bytes(newest.read_bytes()[:-1000])  # as if the disk had been full: the one before it is used
    killed_after_the_next_look(start(sources, tmp_path / "killed"))
    finished(start(sources, tmp_path / "killed"))
    for name in ("encoder/model.safetensors", "log.csv"):
        assert (tmp_path / "killed" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    log = (tmp_path / "whole" / "log.csv").read_text().splitlines()
    losses = [float(line.split(",")[2]) for line in log[1:]]
    assert len(losses) >= 3
    assert losses[-1] < losses[0]
    model = AutoModelForPreTraining.from_pretrained(tmp_path / "whole" / "encoder")
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "whole" / "encoder")
    assert model.config.vocab_size == len(tokenizer) == 600
    assert model.config.hidden_dropout_prob == 0.1
    shipped, data = tmp_path / "our-bert", tmp_path / "data" / "STS"
    data.mkdir(parents=True)
    first = (Path(sources[1]) / "wiki_all.txt").read_text().splitlines()[-1]
    (data / "pairs.txt").write_text(f"4.0\t{first}\tNobody has ever written this sentence down.\n")
    export = [
        "-m",
        "benchmarks.pretrain.export",
        str(tmp_path / "whole"),
        *sources[:4],
        "--evaluation",
        str(data.parent),
    ]
    subprocess.run([sys.executable, *export, "--to", str(shipped)], cwd=ROOT, check=True, capture_output=True)
    card = (shipped / "README.md").read_text()
    assert "| STS | 1 | 2 |" in card
    assert hashlib.sha256((shipped / "model.safetensors").read_bytes()).hexdigest() in card
    assert f"| {float(log[-1].split(',')[2]):.3f} |" in card
    half = AutoModelForPreTraining.from_pretrained(shipped)
    assert half.dtype == torch.float32
    assert torch.equal(half.bert.pooler.dense.weight, model.bert.pooler.dense.weight.half().float())
    other = start(sources, tmp_path / "whole", "--rate", "1e-4")
    assert "is of other options" in other.communicate(timeout=60)[1]
    assert other.returncode == 2


@pytest.mark.slow
def test_two_processes_go_on_too(sources: list[str], tmp_path: Path) -> None:
    finished(start(sources, tmp_path / "whole", processes=2))
    finished(start(sources, tmp_path / "parts", "--stop-after", "25", processes=2))
    finished(start(sources, tmp_path / "parts", processes=2))
    one, other = (tmp_path / name / "encoder" / "model.safetensors" for name in ("whole", "parts"))
    assert one.read_bytes() == other.read_bytes()


def test_text_of_another_version_is_named(sources: list[str], tmp_path: Path) -> None:
    listed = tmp_path / "list.yaml"
    listed.write_text(f"talk: {{text: lines, used: true, sha256: {'0' * 64}}}\n")
    process = start([*sources[:2], "--sources", str(listed)], tmp_path / "out")
    assert "talk.txt has sha256" in process.communicate(timeout=60)[1]
    assert process.returncode == 2
