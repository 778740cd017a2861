"""Mutual information: between attention maps of both views (AMI), or of tokens and the sentence (IS-BERT)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated, Any, ClassVar, Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from cseb.encoder.device_batches import in_full
from cseb.encoder.encoder import Encoder
from cseb.encoder.interface import ATTENTIONS, LAYERS, PADDING, EncodedView
from cseb.errors import BadSpec
from cseb.methods.option_types import AtLeast, Size
from cseb.parts import LossInputs, Reads, reads
from cseb.parts.base import EncoderPart, LossTerm

NEAREST = 1 - 1e-6  # equal maps would have infinite mutual information; this caps it at 6.9 nats


def head_pairs(maps: Tensor) -> Tensor:
    """Reshape (B, n, H, T, T) to slices (B, n * H/2, 2 T^2): adjacent heads of one layer. Source: miCSE, section 2."""
    batch, layers, heads, tokens, _ = maps.shape
    return maps.reshape(batch, layers * heads // 2, 2 * tokens * tokens)


def layer_stride(maps: Tensor) -> Tensor:
    """Reshape (B, n, H, T, T) to slices (B, 2 H, n/2 T^2): every other layer of one head. Source: miCSE's code."""
    batch, layers, heads, tokens, _ = maps.shape
    strided = maps.reshape(batch, layers // 2, 2, heads, tokens * tokens)
    return strided.permute(0, 3, 2, 1, 4).reshape(batch, heads * 2, layers // 2 * tokens * tokens)


Slicing = Literal["head_pairs", "layer_stride"]
SLICINGS: dict[Slicing, Callable[[Tensor], Tensor]] = {"head_pairs": head_pairs, "layer_stride": layer_stride}


def mutual_information(left: Tensor, right: Tensor) -> tuple[Tensor, Tensor]:
    """Return -1/2 log(1 - rho^2) of the logarithms of paired positive samples, per row, and which rows have variance.

    left, right: (R, m), all above 0. Returns (R,) in nats and (R,) bool. Source: Klein & Nabi 2023, eq. 4.
    """
    u, v = left.log(), right.log()
    u, v = u - u.mean(dim=-1, keepdim=True), v - v.mean(dim=-1, keepdim=True)
    spread = (u * u).sum(dim=-1) * (v * v).sum(dim=-1)
    usable = spread > 0
    rho2 = ((u * v).sum(dim=-1) ** 2 / spread.where(usable, torch.ones_like(spread))).clamp(max=NEAREST)
    return -0.5 * torch.log1p(-rho2), usable


def ami(left: Tensor, right: Tensor, valid: Tensor, samples: int, rng: torch.Generator) -> tuple[Tensor, Tensor]:
    """Return the mean mutual information over slices, and the fraction of valid positions of the slices that count.

    left, right: (B, R, M) attention of the two views, positions aligned. valid: (B, R, M), True where a position may be
    drawn (both values above 0). Draws `samples` valid positions per slice without replacement, the same in both views.
    Slices with fewer are left out; if all have fewer, every slice gives as many as the smallest has.
    Returns two scalars; the first is 0 without a gradient if no slice is usable. Source: miCSE's code.
    """
    left, right, valid = left.flatten(0, 1), right.flatten(0, 1), valid.flatten(0, 1)  # (B R, M)
    counts = valid.sum(dim=-1)
    kept = (counts >= samples).nonzero().flatten()  # numbers of slices: the only wait for a GPU
    draw = samples
    if not len(kept):
        kept, draw = torch.arange(len(counts), device=counts.device), int(counts.min())
    fraction_valid = valid[kept].float().mean()
    if draw < 2:
        return left.sum() * 0, fraction_valid
    # A uniform draw without replacement: the positions of the largest of independent random keys.
    keys = torch.rand(valid.shape, generator=rng, device=valid.device).masked_fill_(~valid, -1)
    drawn = keys[kept].topk(draw, dim=-1, sorted=False).indices  # (kept, draw)
    information, usable = mutual_information(left[kept].gather(1, drawn), right[kept].gather(1, drawn))
    return (information * usable).sum() / usable.sum().clamp(min=1), fraction_valid


class AMI(EncoderPart, LossTerm):
    """Minus the mutual information of the two views' attention maps.

    layers: indices from 0, or "upper": 7 to 10 of 12, and the like of other depths. valid: "positive" keeps what is
    above 0 in both views (padding queries included, as released), "square" real queries and keys alone. scale_by_valid:
    times the squared fraction of valid positions + 1e-6, as released. Positions whose query or key is not the same
    token in both views are left out, and so are rows whose views render different sentences. Source: Klein & Nabi 2023,
    eq. 3 to 5 and algorithm 1. Raises: BadSpec on layers the encoder lacks, or odd numbers that cannot be paired.
    """

    preset: ClassVar = {"weight": 1e-3}  # miCSE release: weight of its 0.1 % command
    version: ClassVar[int] = 2
    needs = frozenset({ATTENTIONS})
    reads: ClassVar[Reads] = reads("attentions", views=2, tokens=2)
    same: ClassVar[bool] = True
    layers: tuple[Size, ...] | Literal["upper"] = "upper"
    slicing: Slicing = "layer_stride"
    valid: Literal["positive", "square"] = "positive"
    samples: Annotated[int, AtLeast(2)] = 150
    scale_by_valid: bool = True

    def __post_init__(self) -> None:
        depth = self.shape.layers
        self.read_layers = upper_layers(depth) if self.layers == "upper" else _chosen(self.layers, depth)
        self.needs = frozenset({ATTENTIONS, *([PADDING] if self.valid == "positive" else [])})  # type: ignore[misc]
        by_layers = self.slicing == "layer_stride"
        number, what = (len(self.read_layers), "layers") if by_layers else (self.shape.heads, "heads")
        if number % 2:
            raise BadSpec(
                f"ami: {self.slicing} needs an even number of {what}, not {number}; take other slicing or layers"
            )

    def forward(self, step: LossInputs) -> Tensor:
        left, right = (self._maps(view) for view in step.views[:2])  # (B, n, H, T, T)
        shared = step.views[0].ids == step.views[1].ids  # (B, T)
        valid = (left > 0) & (right > 0) & _both(shared)
        if self.valid == "square":
            real = step.views[0].mask.bool() & step.views[1].mask.bool()  # (B, T)
            valid = valid & _both(real)
        if step.same is not None:
            left, right, valid = left[step.same], right[step.same], valid[step.same]
        cut = SLICINGS[self.slicing]
        information, fraction_valid = ami(cut(left), cut(right), cut(valid), self.samples, step.rng)
        return -information * (fraction_valid**2 + 1e-6) if self.scale_by_valid else -information

    def _maps(self, view: EncodedView) -> Tensor:
        """Return (B, n, H, T, T), in float32 or better: in 16 bits small probabilities vanish."""
        maps = torch.stack([view.attentions[layer] for layer in self.read_layers], dim=1)
        return maps if maps.dtype == torch.float64 else maps.float()


def _both(tokens: Tensor) -> Tensor:
    """Map (B, T) to (B, 1, 1, T, T): True where query and key both are."""
    return tokens[:, None, None, :, None] & tokens[:, None, None, None, :]


def upper_layers(depth: int) -> tuple[int, ...]:
    """Return the upper third of the layers without the last, an even number: 7 to 10 of 12 (from 0), 14 to 21 of 24."""
    first, end = 7 * depth // 12, max(11 * depth // 12, 1)
    first = min(first, end - 1)
    first -= (end - first) % 2
    if first < 0:
        raise BadSpec(
            f"ami: no two layers are below the last of this encoder, whose depth is {depth}; give layers=(0, 1)"
        )
    return tuple(range(first, end))


def _chosen(layers: tuple[int, ...], depth: int) -> tuple[int, ...]:
    if not layers or max(layers) >= depth or len(set(layers)) < len(layers):
        raise BadSpec(f"ami: layers is {layers!r}; this encoder has layers 0 to {depth - 1}, each may be named once")
    return layers


@in_full
def jsd_local_global(local: Tensor, mask: Tensor, sentences: Tensor) -> Tensor:
    """Return minus the Jensen-Shannon estimate of mutual information of tokens with their own sentence, in nats.

    local: (B, T, D), mask: (B, T), sentences: (B, D). Pairs of a token with another sentence are the negatives; there
    are none in a batch of one. Source: Zhang et al. 2020 (IS-BERT), authors' code; Hjelm et al. 2019.
    """
    own, _ = mask.bool().nonzero(as_tuple=True)  # (M,)
    scores = local[mask.bool()] @ sentences.T  # (M, B)
    positive = own[:, None] == torch.arange(len(sentences), device=own.device)
    agree = (math.log(2) - F.softplus(-scores[positive])).mean()
    if len(sentences) == 1:
        return -agree
    others = scores[~positive]
    return (F.softplus(-others) + others - math.log(2)).mean() - agree


class JSDLocalGlobal(LossTerm):
    """Sentence vectors against the pooler's local vectors of all tokens, their own and others'.

    Source: Zhang et al. 2020 (IS-BERT). Raises: BadSpec with a pooler that sees nothing there, or in two networks.
    """

    needs: ClassVar[frozenset[str]] = frozenset({LAYERS})
    views: ClassVar[int] = 1
    reads: ClassVar[Reads] = reads("h", "layers", views=1, tokens=1)

    def pools(self, pooler: Any) -> None:
        """Raise BadSpec for a pooler without local token vectors."""
        if not hasattr(pooler, "local"):
            raise BadSpec("jsd_local_global: this pooler gives no vectors of tokens; add +cnn_mean")

    def setup(self, encoder: Encoder) -> None:
        """Store the pooler's local map; its weights remain the encoder's."""
        pooler: Any = encoder.pooler
        self.pools(pooler)
        self.local = [pooler.local]

    def forward(self, step: LossInputs) -> Tensor:
        view = step.views[0]
        return jsd_local_global(self.local[0](view.layers[-1], view.mask), view.mask, view.h)
