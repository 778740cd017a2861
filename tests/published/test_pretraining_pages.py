"""Figures of the pre-training pages agree with the model cards and with the encoders themselves."""

import json
import re
from pathlib import Path

import pytest

import cseb
from benchmarks.recompute import tables
from cseb.data.shipped import ENCODERS

ROOT = Path(__file__).parents[2]
PRETRAIN = ROOT / "benchmarks" / "pretrain"
SHARED = ROOT.parent / "shared" / "data"
FOLDERS = {folder.name: folder for folder in (PRETRAIN / "encoders").iterdir()}
FOLDERS |= {"tiny-300": ENCODERS["cseb-tiny"].folder, "mini-1200": ENCODERS["cseb-mini"].folder}
POOLERS = {"[CLS]": "cls", "mean": "mean", "mean of first and last layer": "first_last"}


def last_held_out(folder: Path) -> list[str]:
    """Return loss and accuracies in the last row of a model card's table."""
    [rows] = [
        rows for _, heads, rows in tables((folder / "README.md").read_text("utf-8")) if "masked-word loss" in heads
    ]
    return rows[-1][2:]


def rows_of(page: str, *heads: str) -> list[list[str]]:
    """Return the rows of the one table of a page that begins with these heads."""
    text = (PRETRAIN / page).read_text("utf-8")
    [rows] = [rows for _, found, rows in tables(text) if found[: len(heads)] == list(heads)]
    return rows


def test_the_table_of_encoders_is_that_of_their_cards() -> None:
    rows = rows_of("README.md", "encoder", "layers x width")
    assert {row[0].split()[0].strip("`") for row in rows} == set(FOLDERS)
    for name, shape, tokens, seed, *held_out in rows:
        folder = FOLDERS[name.split()[0].strip("`")]
        card = (folder / "README.md").read_text("utf-8")
        config = json.loads((folder / "config.json").read_text("utf-8"))
        assert shape == f"{config['num_hidden_layers']} x {config['hidden_size']}"
        assert f" {tokens} million tokens" in card
        assert f"--seed {seed} " in card
        assert [cell.replace(" %", "%") for cell in held_out] == last_held_out(folder)


def test_losses_in_the_page_on_reading_are_those_of_the_cards() -> None:
    text = (ROOT / "results" / "reading" / "README.md").read_text("utf-8")
    [stated] = re.findall(r"The held-out loss falls from\s+(\S+) to (\S+) meanwhile", text)
    assert stated == tuple(f"{float(last_held_out(FOLDERS[name])[0]):.2f}" for name in ("tiny-300", "tiny-2000"))


@pytest.mark.skipif(not (SHARED / "senteval/STS").is_dir(), reason="needs the task files beside the repository")
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name == "tiny-300" else pytest.mark.slow) for name in sorted(FOLDERS)]
)
def test_untrained_dev_scores_are_those_of_the_encoders(name: str) -> None:
    [cells] = [row[1:] for row in rows_of("TRIALS.md", "encoder", *POOLERS) if row[0] == f"`{name}`"]
    for pooler, cell in zip(POOLERS.values(), cells, strict=True):
        scores = cseb.evaluate(str(FOLDERS[name]), pooler=pooler, tasks="sickr-dev,stsb-dev,sts-dev", data_dir=SHARED)
        printed = [float(number) for number in cell.replace("**", "").split(", ")]
        assert printed == pytest.approx(list(scores.values()), abs=0.051)  # one decimal; processors differ in the third
