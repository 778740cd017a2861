"""Maps after the pooler, new in every run; `keep=True` leaves them on at test."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn, tanh

from cseb.errors import one_of, whole
from cseb.parts import Shape

INITIAL_SPREAD = 0.02  # standard deviation of new weights, as BERT starts its own


def new_linear(width: int) -> nn.Linear:
    """A square layer with weights N(0, 0.02) and bias 0."""
    layer = nn.Linear(width, width)
    nn.init.normal_(layer.weight, std=INITIAL_SPREAD)
    nn.init.zeros_(layer.bias)
    return layer


class NoHead(nn.Module):
    """The pooled vector itself."""

    keep = False

    def forward(self, h: Tensor) -> Tensor:
        """Return h, (B, D)."""
        return h


class Linear(nn.Module):
    """W h + b.

    Source: the projector of MSSE's released code.
    """

    def __init__(self, keep: bool, shape: Shape) -> None:
        super().__init__()
        self.keep = one_of((True, False), keep, "linear: keep")
        self.dense = new_linear(shape.width)

    def forward(self, h: Tensor) -> Tensor:
        """(B, D) to (B, D)."""
        return self.dense(h)  # type: ignore[no-any-return]


class MLP(nn.Module):
    """tanh(W h + b).

    Source: Gao et al. 2021, section 6.3; dropped at test without supervision, kept with it.
    """

    def __init__(self, keep: bool, shape: Shape) -> None:
        super().__init__()
        self.keep = one_of((True, False), keep, "mlp: keep")
        self.dense = new_linear(shape.width)

    def forward(self, h: Tensor) -> Tensor:
        """(B, D) to (B, D)."""
        return tanh(self.dense(h))


class BatchNorm(nn.BatchNorm1d):
    """Batch normalisation; a row alone, which has no spread of its own, is measured by the rows before it."""

    def forward(self, x: Tensor) -> Tensor:
        """(B, P) to (B, P)."""
        if self.training and len(x) == 1:
            return F.batch_norm(x, self.running_mean, self.running_var, self.weight, self.bias, eps=self.eps)
        return super().forward(x)


class BarlowProjector(nn.Module):
    """Three linear layers, batch normalisation and ReLU between them; in training only.

    width: of all three. Source: Klein & Nabi 2022 (SCD), section 3; Zbontar et al. 2021, section 2.2.
    """

    keep = False

    def __init__(self, width: int, shape: Shape) -> None:
        super().__init__()
        self.width = whole(1, width, "barlow_projector: width")
        self.layers = nn.Sequential(
            *(nn.Linear(shape.width, width), BatchNorm(width), nn.ReLU()),
            *(nn.Linear(width, width, bias=False), BatchNorm(width), nn.ReLU()),
            nn.Linear(width, width, bias=False),
        )

    def forward(self, h: Tensor) -> Tensor:
        """(B, D) to (B, P)."""
        return self.layers(h)  # type: ignore[no-any-return]


class BNMLP(nn.Module):
    """Linear, batch normalisation, ReLU, linear, batch normalisation without a scale; in training only.

    inner: width between. Over all views of a batch at once, where they are one pass. Source: Chuang et al. 2022
    (DiffCSE); released code.
    """

    keep = False

    def __init__(self, inner: int, shape: Shape) -> None:
        super().__init__()
        whole(1, inner, "bn_mlp: inner")
        self.layers = nn.Sequential(
            *(nn.Linear(shape.width, inner, bias=False), BatchNorm(inner), nn.ReLU()),
            *(nn.Linear(inner, shape.width, bias=False), BatchNorm(shape.width, affine=False)),
        )

    def forward(self, h: Tensor) -> Tensor:
        """(B, D) to (B, D)."""
        return self.layers(h)  # type: ignore[no-any-return]


class GELUMLP(nn.Module):
    """Two linear layers, GELU behind both; in training only.

    width: of both. Source: Kim et al. 2021 (SG-OPT); released code.
    """

    keep = False

    def __init__(self, width: int, shape: Shape) -> None:
        super().__init__()
        whole(1, width, "gelu_mlp: width")
        self.layers = nn.Sequential(nn.Linear(shape.width, width), nn.GELU(), nn.Linear(width, width), nn.GELU())

    def forward(self, h: Tensor) -> Tensor:
        """(B, D) to (B, P)."""
        return self.layers(h)  # type: ignore[no-any-return]
