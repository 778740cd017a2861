"""Pre-training on the simulated GPU: the same losses as on a CPU."""

import argparse
import hashlib
from pathlib import Path

import pytest

from benchmarks.pretrain import text, train
from benchmarks.pretrain.sources import BadText
from cseb import open_data
from tests.simulated_gpu import device


@pytest.mark.parametrize("size", ["tiny", "tiny-decoder"])
def test_a_run_has_the_held_out_loss_of_one_on_a_cpu(
    size: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = "".join(f"{line}\n" for line in open_data.lines("corpora/wikipedia.txt")[:9000]).encode()
    (tmp_path / "talk.txt").write_bytes(content)
    facts = f"text: lines, used: true, genre: wiki, sha256: {hashlib.sha256(content).hexdigest()}"
    (tmp_path / "list.yaml").write_text(f"talk: {{{facts}}}\n")
    text.prepare(tmp_path, tmp_path / "text", 400, tmp_path / "list.yaml")
    losses = {}
    for where in ("cpu", device.NAME):
        options = f"--text {tmp_path}/text --out {tmp_path}/{where} --size {size} --until 0.01"
        command = f"train {options} --tokens 1024 --short-rows 0 --rate 0.01".split()
        monkeypatch.setattr("sys.argv", command)
        with pytest.raises(BadText, match=r"vectors\.npy is missing"):
            train.train(train.arguments())
        monkeypatch.setattr("sys.argv", [*command, "--words", "random"])
        asked: argparse.Namespace = train.arguments()
        asked.device = where
        device.operations.clear()
        assert train.train(asked)
        losses[where] = float((tmp_path / where / "log.csv").read_text().splitlines()[-1].split(",")[2])
    assert device.operations
    assert losses[device.NAME] == pytest.approx(losses["cpu"], rel=1e-5)
