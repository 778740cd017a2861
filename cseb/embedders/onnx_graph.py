"""The backbone of an encoder as an ONNX graph, written by torch.onnx and computed by onnxruntime."""

from __future__ import annotations

import copy
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import torch
from torch import Tensor, nn
from transformers.modeling_outputs import BaseModelOutput

from cseb.encoder.encoder import Encoder
from cseb.encoder.interface import LAYERS, POOLED
from cseb.errors import BadData, BadSpec, first_line

# Places in a model's folder, and names of inputs and outputs, that sentence-transformers expects.
FILES: Final = {"onnx": "onnx/model.onnx", "onnx-int8": "onnx/model_int8.onnx"}
INPUTS: Final = ("input_ids", "attention_mask")
STATES: Final = "last_hidden_state"
PACKAGES: Final = ("onnx", "onnxruntime", "onnxscript")


def check() -> None:
    """Check that the packages are installed. Raises: BadSpec."""
    if lacking := [name for name in PACKAGES if find_spec(name) is None]:
        raise BadSpec(f"ONNX needs {', '.join(lacking)}, not installed here; pip install 'cseb[onnx]'")


def write(encoder: Encoder, folder: Path, form: str) -> Path:
    """Write the backbone into the folder of its model, and return the file.

    The graph maps token ids and mask (B, T) to the last layer's states (B, T, D). form: "onnx" for 32 bits, "onnx-int8"
    for weights and activations of matrix products in 8 bits (dynamic quantisation). Raises: BadSpec if packages are
    missing or the pooler reads further layers; BadData if the backbone cannot be written.
    """
    check()
    if more := encoder.needs & {LAYERS, POOLED}:
        raise BadSpec(f"the pooler of this model reads {', '.join(sorted(more))}; ONNX files have the last layer alone")
    from onnxruntime import quantization

    file = folder / FILES[form]
    file.parent.mkdir(parents=True, exist_ok=True)
    whole = file if form == "onnx" else file.with_name(f".{file.name}.tmp")
    try:
        with _quiet():
            _write(encoder, whole)
            if whole != file:
                # unsigned weights: with signed ones, processors without VNNI may overflow 16 bits
                quantization.quantize_dynamic(whole, file, weight_type=quantization.QuantType.QUInt8)
    except Exception as error:  # torch and onnx raise errors of many kinds
        raise BadData(f"{folder} cannot be written as ONNX: {first_line(error)}") from error
    finally:
        if whole != file:
            whole.unlink(missing_ok=True)
    return file


def through(encoder: Encoder, file: Path, threads: int = 1) -> Encoder:
    """Return a copy of the encoder whose states are computed by onnxruntime from a file that `write` has written."""
    other = copy.copy(encoder)
    other._modules = dict(encoder._modules)  # copy.copy shares this dictionary
    other.backbone = _Graph(file, threads)
    return other


class _States(nn.Module):
    def __init__(self, backbone: nn.Module) -> None:
        super().__init__()
        self.backbone = backbone

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        states: Tensor = self.backbone(
            input_ids=input_ids, attention_mask=attention_mask, return_dict=True
        ).last_hidden_state
        return states


class _Graph(nn.Module):
    """A backbone computed by onnxruntime."""

    def __init__(self, file: Path, threads: int) -> None:
        super().__init__()
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        self.session = onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
        self.config = SimpleNamespace(model_type="onnx")
        self.place = nn.Parameter(torch.empty(0), requires_grad=False)  # `Encoder.device` reads it

    def forward(self, input_ids: Tensor, attention_mask: Tensor, **_: Any) -> BaseModelOutput:
        arrays = (input_ids.long().numpy(), attention_mask.long().numpy())
        (states,) = self.session.run([STATES], dict(zip(INPUTS, arrays, strict=True)))
        return BaseModelOutput(last_hidden_state=torch.from_numpy(states))


def _write(encoder: Encoder, file: Path) -> None:
    ids = torch.ones((2, 3), dtype=torch.int64)
    mask = torch.tensor([[1, 1, 1], [1, 1, 0]])  # where nothing is masked, transformers leaves masks out of the graph
    any_size = torch.export.Dim.DYNAMIC
    torch.onnx.export(
        _States(encoder.backbone).eval(),
        kwargs=dict(zip(INPUTS, (ids, mask), strict=True)),
        f=file,
        input_names=list(INPUTS),
        output_names=[STATES],
        dynamic_shapes={name: {0: any_size, 1: any_size} for name in INPUTS},
        external_data=False,
        dynamo=True,
        verbose=False,
    )


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence the exporters' messages to developers."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)
