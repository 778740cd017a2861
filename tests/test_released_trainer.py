"""SimCSE's released trainer, written out, beside ours: losses and weights after some steps without dropout."""

import shutil
from collections.abc import Callable
from pathlib import Path

import torch
from transformers import AutoModel

from tests.conftest import SENTENCES, script_of


def spread_out(folder: Path, to: Path) -> Path:
    """The encoder with matrices twenty times as large: sentences lie apart, and gradients are more than rounding."""
    shutil.copytree(folder, to)
    model = AutoModel.from_pretrained(folder)
    with torch.no_grad():
        for weight in model.parameters():
            if weight.dim() > 1:
                weight.mul_(20)
    model.save_pretrained(to)
    return to


def test_the_recipe_of_simcse_trains_as_the_released_trainer(tiny: Callable[[str], Path], tmp_path: Path) -> None:
    script = script_of("equality/released_trainer")
    result = script.compare(spread_out(tiny("bert"), tmp_path / "encoder"), SENTENCES, 3, 8)
    loss, whole, some = result[script.SAME]
    assert loss < 1e-5
    assert whole < 3e-3
    assert some < 3e-3
    # torch's own AdamW is another optimiser where gradients are small
    assert result["adamw"][1] > 3 * whole
    assert result["adamw"][2] > 3 * some
