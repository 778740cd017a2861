"""The modules and the prompt of a finished sentence-transformers model as a head."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar

import torch.nn.functional as F
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from cseb.data import bounded, checkpoint
from cseb.data.finished_models import KEPT, Module, further_modules, pools_prompt, prompt
from cseb.encoder.interface import Shape
from cseb.errors import BadSpec, first_line
from cseb.parts.base import ModulePart

ACTIVATIONS = ("ELU", "GELU", "Identity", "LeakyReLU", "Mish", "ReLU", "Sigmoid", "SiLU", "Softplus", "Tanh")


class Dense(nn.Module):
    """A linear layer and an activation, with the names of sentence-transformers."""

    def __init__(self, width: int, out: int, bias: bool, activation: str) -> None:
        super().__init__()
        self.linear = nn.Linear(width, out, bias=bias)
        self.activation = getattr(nn, activation)()

    def forward(self, h: Tensor) -> Tensor:
        return self.activation(self.linear(h))  # type: ignore[no-any-return]


class LayerNorm(nn.Module):
    """A layer norm, with the names of sentence-transformers."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)

    def forward(self, h: Tensor) -> Tensor:
        return self.norm(h)  # type: ignore[no-any-return]


class Normalize(nn.Module):
    """Division by the norm."""

    def forward(self, h: Tensor) -> Tensor:
        return F.normalize(h, dim=-1)


class OwnModules(ModulePart):
    """The Dense, LayerNorm and Normalize modules of a finished model, trained with it and kept at test.

    The prompt of the model, if it has one, is put before every sentence, unless the method has a prompt of its own.
    Source: the encoder's folder, in the format of sentence-transformers. Raises: BadSpec if it has neither modules nor
    a prompt, or other modules, or pools without its prompt.
    """

    version: ClassVar[int] = 2
    keep = True

    def __init__(self, *, shape: Shape) -> None:
        modules = () if shape.folder is None else further_modules(shape.folder)
        self.prompt = "" if shape.folder is None else prompt(shape.folder)
        if not (modules or self.prompt) or not {module.kind for module in modules} <= {*KEPT}:
            listed = ", ".join(module.kind for module in modules) or "none"
            raise BadSpec(
                f"own_modules: the encoder's modules after the pooling are {listed}; {', '.join(KEPT)} are possible; "
                "leave own_modules out"
            )
        if self.prompt and shape.folder is not None and not pools_prompt(shape.folder):
            raise BadSpec(
                f"own_modules: this model pools without the tokens of its prompt {self.prompt!r}, which no pooler "
                "of cseb does; leave own_modules out"
            )
        self.kinds, width, layers = [module.kind for module in modules], shape.width, []
        for module in modules:
            layer = _layer(module, width)
            width = layer.linear.out_features if isinstance(layer, Dense) else width
            layers.append(layer)
        self.layers = nn.Sequential(*layers)

    def forward(self, h: Tensor) -> Tensor:
        return self.layers(h)  # type: ignore[no-any-return]

    def save_modules(self, folder: Path, first: int) -> list[tuple[str, str]]:
        """Write the modules below a folder, numbered from `first`; return the path and the class of each."""
        entries = []
        for number, (kind, layer) in enumerate(zip(self.kinds, self.layers, strict=True), first):
            place = folder / f"{number}_{kind}"
            place.mkdir(exist_ok=True)
            config: dict[str, Any] = {}
            if isinstance(layer, Dense):
                config = {
                    "in_features": layer.linear.in_features,
                    "out_features": layer.linear.out_features,
                    "bias": layer.linear.bias is not None,
                    "activation_function": f"{type(layer.activation).__module__}.{type(layer.activation).__name__}",
                }
            elif isinstance(layer, LayerNorm):
                config = {"dimension": layer.norm.normalized_shape[0]}
            if config:
                (place / "config.json").write_text(json.dumps(config, indent=2) + "\n")
                weights = {name: value.contiguous().cpu() for name, value in layer.state_dict().items()}
                save_file(weights, place / "model.safetensors")
            entries.append((place.name, kind))
        return entries


def _layer(module: Module, width: int) -> nn.Module:
    """Return a module of sentence-transformers with its weights. Raises: BadSpec, BadData."""
    if module.kind == "Normalize":
        return Normalize()
    config = bounded.read_object(module.folder / "config.json")
    file = module.folder / "model.safetensors"
    layer: nn.Module = LayerNorm(width)
    if module.kind == "Dense":
        activation = str(config.get("activation_function", "torch.nn.modules.activation.Tanh")).rpartition(".")[2]
        token_level = config.get("module_input_name", "sentence_embedding") != "sentence_embedding"
        if activation not in ACTIVATIONS or token_level:
            raise BadSpec(
                f"own_modules: {module.folder} maps tokens or has the activation {activation[:50]}; possible are "
                f"{', '.join(ACTIVATIONS)}; leave own_modules out"
            )
        weight = checkpoint.stored(file).get("linear.weight")
        out = weight.shape[0] if weight is not None else 0
        layer = Dense(width, out, bool(config.get("bias", True)), activation)
    checkpoint.check_finite(file)
    try:
        layer.load_state_dict(load_file(file))
    except (SafetensorError, RuntimeError, OSError) as error:
        raise BadSpec(f"own_modules: {file} does not fit an encoder of width {width}: {first_line(error)}") from None
    return layer
