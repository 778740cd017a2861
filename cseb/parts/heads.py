"""Maps after the pooler, newly initialised in every run; `keep=True` keeps them at test."""

from __future__ import annotations

from typing import ClassVar, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn, tanh

from cseb.encoder.device_batches import in_full
from cseb.encoder.interface import Shape
from cseb.errors import BadSpec, whole
from cseb.methods.option_types import Count, Positive
from cseb.parts.base import EncoderPart, ModulePart

SMALLEST = 1e-7  # of an eigenvalue, relative to the largest: below it float32 is 0
INITIAL_SPREAD = 0.02  # standard deviation of new weights, as BERT starts its own


def start_as_bert(layer: nn.Linear) -> None:
    """Initialise a linear layer as BERT does: weights N(0, 0.02), bias 0.

    Source: Devlin et al. 2019; what code that calls `init_weights` does to every linear layer of its own.
    """
    nn.init.normal_(layer.weight, std=INITIAL_SPREAD)
    if layer.bias is not None:
        nn.init.zeros_(layer.bias)


def new_linear(width: int, out: int | None = None, bias: bool = True) -> nn.Linear:
    """Return a linear layer with weights N(0, 0.02) and bias 0, of `out` outputs, else square."""
    layer = nn.Linear(width, out or width, bias=bias)
    start_as_bert(layer)
    return layer


def times_width(value: int | str, width: int, what: str) -> int:
    """Return a width given as a number, or as a multiple of the encoder's width such as "2x". Raises: BadSpec."""
    if isinstance(value, str):
        times = value.removesuffix("x")
        if value == times or not (times.isascii() and times.isdigit()) or not 0 < len(times) < 4 or int(times) < 1:
            raise BadSpec(f'{what} is {value!r}; write a whole number, or times the width of the encoder, such as "2x"')
        return int(times) * width
    return whole(1, value, what)


class NoHead(ModulePart):
    """The pooled vector itself, without a head."""

    keep = False

    def forward(self, h: Tensor) -> Tensor:
        return h


class Linear(EncoderPart, ModulePart):
    """W h + b.

    Source: the projector of MSSE's code.
    """

    version: ClassVar[int] = 2
    keep: bool = False  # MSSE release

    def __post_init__(self) -> None:
        self.dense = new_linear(self.shape.width)

    def forward(self, h: Tensor) -> Tensor:
        return self.dense(h)  # type: ignore[no-any-return]


class MLP(Linear):
    """tanh(W h + b).

    Source: Gao et al. 2021, section 6.3; dropped at test without supervision, kept with it.
    """

    def forward(self, h: Tensor) -> Tensor:
        return tanh(super().forward(h))


class LayersHead(ModulePart):
    """Base of heads that are a sequence of layers, in training only."""

    keep = False
    layers: nn.Sequential

    def forward(self, h: Tensor) -> Tensor:
        return self.layers(h)  # type: ignore[no-any-return]


class BatchNorm(nn.BatchNorm1d):
    """Batch normalisation; a batch of one row uses the running statistics."""

    def forward(self, x: Tensor) -> Tensor:
        if self.training and len(x) == 1:
            return F.batch_norm(x, self.running_mean, self.running_var, self.weight, self.bias, eps=self.eps)
        return super().forward(x)


class BarlowProjector(LayersHead):
    """Three linear layers with batch normalisation and ReLU between them; in training only.

    width: of all three. Source: Klein & Nabi 2022 (SCD), section 3; authors' code for the first weights; Zbontar et al.
    2021, section 2.2.
    """

    version: ClassVar[int] = 2

    # SCD release
    def __init__(self, width: Count = 4096, *, shape: Shape) -> None:
        self.width = width
        self.layers = nn.Sequential(
            *(new_linear(shape.width, width), BatchNorm(width), nn.ReLU()),
            *(new_linear(width, bias=False), BatchNorm(width), nn.ReLU()),
            new_linear(width, bias=False),
        )


class BNMLP(LayersHead):
    """Linear, batch normalisation, ReLU, linear, batch normalisation without a scale; in training only.

    inner: width between, a number or times the encoder's width ("2x"). Linear layers start as BERT's own do. Over all
    views of a batch at once, where they are one pass. Source: Chuang et al. 2022 (DiffCSE); authors' code.
    """

    version: ClassVar[int] = 2

    # DiffCSE release: twice the encoder's width
    def __init__(self, inner: int | str = "2x", *, shape: Shape) -> None:
        between = times_width(inner, shape.width, "bn_mlp: inner")
        self.layers = nn.Sequential(
            *(new_linear(shape.width, between, bias=False), BatchNorm(between), nn.ReLU()),
            *(new_linear(between, shape.width, bias=False), BatchNorm(shape.width, affine=False)),
        )


class GELUMLP(LayersHead):
    """Two linear layers, GELU after both; in training only.

    width: of both. Source: Kim et al. 2021 (SG-OPT); authors' code.
    """

    version: ClassVar[int] = 3

    # SG-OPT release
    def __init__(self, width: Count = 4096, *, shape: Shape) -> None:
        self.layers = nn.Sequential(new_linear(shape.width, width), nn.GELU(), new_linear(width), nn.GELU())


@in_full
def whiten_groups(h: Tensor, order: Tensor, groups: int, epsilon: float) -> Tensor:
    """Whiten (B, D) over the batch within groups of features, by ZCA.

    order: (D,) the features, group after group. epsilon: added to variances. The whitening matrix is a constant for the
    gradient. Source: Zhuo et al. 2023 (WhitenedCSE), shuffled group whitening; authors' code for the constant.
    """
    x = h[:, order].view(len(h), groups, -1).transpose(0, 1)  # (G, B, D/G)
    x = x - x.mean(dim=1, keepdim=True)
    fixed = x.detach()
    spread = fixed.mT @ fixed / len(h) + epsilon * torch.eye(x.shape[-1], dtype=x.dtype, device=x.device)
    values, vectors = torch.linalg.eigh(spread)
    values = torch.maximum(values, values[..., -1:] * SMALLEST)
    white: Tensor = (x @ (vectors * values.rsqrt()[..., None, :]) @ vectors.mT).transpose(0, 1).flatten(1)
    return white[:, order.argsort()]


class GroupWhiten(EncoderPart, ModulePart):
    """Whitening over the batch in random groups of features, then tanh(W h + b); in training only.

    groups: how many, drawn anew at every call. epsilon: added to variances. In float32 or better. Source: Zhuo et al.
    2023 (WhitenedCSE); authors' code. Raises: BadSpec if the width is no multiple of groups.
    """

    version: ClassVar[int] = 3
    keep = False
    groups: Count = 128  # WhitenedCSE; epsilon is ours
    epsilon: Positive = 1e-5

    def __post_init__(self) -> None:
        if (width := self.shape.width) % self.groups:
            raise BadSpec(f"group_whiten: {self.groups} groups of {width} features; take a divisor of {width}")
        self.dense = new_linear(width)

    def forward(self, h: Tensor) -> Tensor:
        order = torch.randperm(h.shape[1], device=h.device)
        return tanh(self.dense(whiten_groups(h, order, self.groups, self.epsilon)))


class ReLUMLP(ModulePart):
    """Linear, ReLU, linear, without biases, then length 1; in training only. Layers start as BERT's.

    width: what it gives. rate: its learning rate, times that of the recipe. Source: Zhang et al. 2022 (VaSCL); authors'
    code, whose library draws what a checkpoint lacks so.
    """

    version: ClassVar[int] = 2
    keep = False

    # VaSCL release
    def __init__(self, width: Count = 128, rate: Positive = 100.0, *, shape: Shape) -> None:
        self.rate = rate
        self.layers = nn.Sequential(
            new_linear(shape.width, bias=False), nn.ReLU(), new_linear(shape.width, width, bias=False)
        )

    def forward(self, h: Tensor) -> Tensor:
        return F.normalize(self.layers(h), dim=-1)


class Paraphraser(LayersHead):
    """Linear, tanh, linear, tanh, linear, then through a bottleneck: linear, tanh, linear; in training only.

    inner: width of all layers but the bottleneck, and of what it gives. neck: width of the bottleneck. Layers start as
    torch has them. Source: Wang et al. 2023 (CLSEP), authors' code.
    """

    # CLSEP release
    def __init__(self, inner: Count = 4096, neck: Count = 512, *, shape: Shape) -> None:
        self.layers = nn.Sequential(
            *(nn.Linear(shape.width, inner), nn.Tanh(), nn.Linear(inner, inner), nn.Tanh(), nn.Linear(inner, inner)),
            *(nn.Linear(inner, neck), nn.Tanh(), nn.Linear(neck, inner)),
        )


class Project(ModulePart):
    """W h + b, of `width` coordinates, optionally with tanh; kept at test.

    activation: "tanh", which bounds every number by 1, or "none". Source: Limkonchotiwat et al. 2022 (ConGen), its
    authors' code: a linear layer to the teacher's width and tanh, behind mean pooling; its weights start there as
    torch's, here as BERT's.
    """

    keep = True

    # ConGen release, its RoBERTa-large
    def __init__(self, width: Count = 1024, activation: Literal["tanh", "none"] = "tanh", *, shape: Shape) -> None:
        self.dense, self.activation = new_linear(shape.width, width), activation

    def forward(self, h: Tensor) -> Tensor:
        projected: Tensor = self.dense(h)
        return tanh(projected) if self.activation == "tanh" else projected
