"""Folders as strangers write them, and what a command says of one."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from typer.testing import Result

from tests import command_line
from tests.stderr_lines import without_progress
from tests.world import WORLD

Tiny = Callable[[str], Path]
OLD = "sentence_transformers.models."
CODE = """
import pathlib
pathlib.Path({canary!r}).touch()
from torch import nn
class Custom(nn.Module):
    def forward(self, features):
        return features
    @classmethod
    def load(cls, *args, **kwargs):
        return cls()
    save = config_file_name = None
"""


class Payload:
    """Touches the canary when it is unpickled."""

    def __init__(self, canary: Path) -> None:
        self.canary = canary

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.canary,)


def write(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))


def change(path: Path, **values: object) -> None:
    write(path, {**json.loads(path.read_text()), **values})


def st_folder(encoder: Path, folder: Path, further: tuple[tuple[str, str], ...] = ()) -> Path:
    """A model of sentence-transformers with mean pooling, and further modules (type, path) behind it."""
    shutil.copytree(encoder, folder)
    modules = ((f"{OLD}Transformer", ""), (f"{OLD}Pooling", "1_Pooling"), *further)
    listed = [{"idx": i, "name": str(i), "type": kind, "path": path} for i, (kind, path) in enumerate(modules)]
    write(folder / "modules.json", listed)
    write(folder / "1_Pooling/config.json", {"word_embedding_dimension": 16, "pooling_mode_mean_tokens": True})
    write(folder / "sentence_bert_config.json", {"max_seq_length": 64, "do_lower_case": False})
    return folder


def with_dense(encoder: Path, folder: Path, **options: object) -> Path:
    """As `st_folder`, with a dense layer from 16 to 4."""
    import torch
    from safetensors.torch import save_file

    st_folder(encoder, folder, ((f"{OLD}Dense", "2_Dense"),))
    activation = "torch.nn.modules.activation.Tanh"
    settings = {"in_features": 16, "out_features": 4, "bias": True, "activation_function": activation, **options}
    write(folder / "2_Dense/config.json", settings)
    save_file({"linear.weight": torch.ones(4, 16), "linear.bias": torch.zeros(4)}, folder / "2_Dense/model.safetensors")
    return folder


def call(*arguments: object) -> Result:
    return command_line.call("eval", *arguments, "--tasks", "toy-captions", "--device", "cpu")


def refused(name: object, message: str, *arguments: object) -> None:
    """One line, exit 2."""
    result = call(name, *arguments)
    assert (result.exit_code, len(without_progress(result.stderr))) == (2, 1), result.output
    assert message in result.stderr, result.stderr
    assert len(result.stderr) < 1500


def not_planned(encoder: Path) -> None:
    """A grid with this encoder is refused before its first job, in one line."""
    grid = ["run", WORLD, "--encoder", str(encoder), "--methods", "simcse", "--seeds", "1", "--steps", "1"]
    small = ["--corpus", "wikipedia:200", "--sizes", "100"]  # made at once, so that no line says how far it is
    result = command_line.call(*grid, *small)
    assert (result.exit_code, len(without_progress(result.stderr))) == (2, 1), result.output
    assert without_progress(result.stderr)[0].startswith("cseb: ")
    assert not list(Path("results").rglob("*.jsonl"))
