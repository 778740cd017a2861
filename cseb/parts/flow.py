"""Normalizing flow: an invertible map to normally distributed vectors (BERT-flow)."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from dataclasses import KW_ONLY
from typing import Annotated, ClassVar

import torch
from torch import Tensor, nn
from torch.optim import AdamW

from cseb.errors import BadSpec
from cseb.methods.option_types import AtLeast, Between, Count, Positive, Size
from cseb.parts.base import EncoderPart, ModulePart

SPREAD = 1e-6  # added to deviations, so that a coordinate that never changes can be divided by its own
DRAWN = 0.05  # deviation of new weights, as in Glow
LARGEST = 1.0  # norm of a gradient
AT_ONCE = 4096  # rows mapped together at test


class ActNorm(nn.Module):
    """Shift and scale of every coordinate; `start` gives the first batch mean 0 and variance 1.

    Source: Kingma & Dhariwal 2018 (Glow), section 3.1.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.shift, self.log_scale = (nn.Parameter(torch.zeros(width)) for _ in range(2))

    @torch.no_grad()
    def start(self, x: Tensor) -> None:
        """Set shift and scale from these vectors (N, D)."""
        self.shift.copy_(-x.mean(dim=0))
        self.log_scale.copy_(-(x.std(dim=0, unbiased=False) + SPREAD).log())

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Map (N, D) to (N, D); return the logarithm of the volume factor too."""
        return (x + self.shift) * self.log_scale.exp(), self.log_scale.sum()


class Coupling(nn.Module):
    """Additive coupling: add a function of the first half of the coordinates to the others.

    It starts as the identity. Source: Dinh, Krueger & Bengio 2015 (NICE), section 3.2.
    """

    def __init__(self, width: int, inner: int) -> None:
        super().__init__()
        self.kept = width // 2
        self.inward, self.across = nn.Linear(self.kept, inner), nn.Linear(inner, inner)
        self.outward = nn.Linear(inner, width - self.kept)

    @torch.no_grad()
    def start(self, rng: torch.Generator) -> None:
        """Draw new weights."""
        for layer in (self.inward, self.across):
            layer.weight.copy_(torch.randn(layer.weight.shape, generator=rng) * DRAWN)
            layer.bias.zero_()
        for weight in self.outward.parameters():
            weight.zero_()

    def forward(self, x: Tensor) -> Tensor:
        kept, moved = x[:, : self.kept], x[:, self.kept :]
        added: Tensor = self.outward(self.across(self.inward(kept).relu()).relu())
        return torch.cat([kept, moved + added], dim=1)


class FlowStep(nn.Module):
    """ActNorm, a fixed random order of the coordinates, a coupling."""

    def __init__(self, width: int, inner: int) -> None:
        super().__init__()
        self.actnorm, self.coupling = ActNorm(width), Coupling(width, inner)
        self.order: Tensor
        self.register_buffer("order", torch.arange(width))

    def start(self, x: Tensor, rng: torch.Generator) -> None:
        """Draw new weights and order; set scales from these vectors (N, D)."""
        self.actnorm.start(x)
        self.order.copy_(torch.randperm(len(self.order), generator=rng))
        self.coupling.start(rng)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Map (N, D) to (N, D); return the logarithm of the volume factor too."""
        y, volume = self.actnorm(x)
        return self.coupling(y[:, self.order]), volume


class Glow(nn.Module):
    """Levels of flow steps; half of the coordinates leaves after each level but the last. All are standard normal.

    Source: Kingma & Dhariwal 2018 (Glow), on vectors as in Li et al. 2020 (BERT-flow), in whose code the half
    that leaves has no prior conditioned on the other one.
    """

    def __init__(self, width: int, levels: int, depth: int, inner: int) -> None:
        super().__init__()
        self.levels = nn.ModuleList()
        self.left: list[int] = []  # how many coordinates leave behind each level but the last
        for level in range(levels):
            self.levels.append(nn.ModuleList(FlowStep(width, inner) for _ in range(depth)))
            if level < levels - 1:
                self.left.append(width // 2)
                width -= width // 2

    def forward(self, x: Tensor, rng: torch.Generator | None = None) -> tuple[Tensor, Tensor]:
        """Return z (N, D) and log p(x) (N,), in nats. With `rng`, reinitialise all steps from x."""
        gone, volume = [], x.new_zeros(len(x))
        for number, level in enumerate(self.levels):
            for step in level:  # type: ignore[attr-defined]  # a ModuleList
                if rng is not None:
                    step.start(x, rng)
                x, grown = step(x)
                volume = volume + grown
            if number < len(self.left):
                gone.append(x[:, : self.left[number]])
                x = x[:, self.left[number] :]
        z = torch.cat([*gone, x], dim=1)
        return z, volume + log_normal(z)


def log_normal(x: Tensor) -> Tensor:
    """Return the log density (N,) of vectors (N, D) under the standard normal distribution."""
    return -(x.square() + math.log(2 * math.pi)).sum(dim=1) / 2


class Flow(EncoderPart, ModulePart):
    """Normalizing flow fitted on the subset's vectors; the encoder is unchanged and cosines are those of z.

    levels, depth, width: of the Glow, width being that of its couplings. steps of AdamW with batch_size vectors, all at
    learning_rate. held_out: fraction of the subset that is not trained on; its likelihood, computed every `every`
    steps, chooses the step. With 0 the last one is taken, as in the authors' code. Fitted anew, from the same random
    numbers, at every evaluation of the encoder. Source: Li et al. 2020 (BERT-flow); authors' code. Raises:
    BadSpec on an encoder too narrow for the levels.
    """

    version: ClassVar[int] = 3
    of_encoder_width: ClassVar[bool] = True
    requires: ClassVar[str] = "a fit afterwards"
    levels: Count = 3  # BERT-flow release; one epoch of 10^6 sentences; held_out and every are ours
    depth: Count = 3
    width: Count = 32
    steps: Size = 31_250
    batch_size: Annotated[int, AtLeast(2)] = 32
    learning_rate: Positive = 1e-3
    held_out: Annotated[float, Between(0, 0.5)] = 0.1
    every: Count = 250
    _: KW_ONLY
    run_seed: int

    def __post_init__(self) -> None:
        shape = self.shape
        if 2**self.levels > shape.width:
            most = shape.width.bit_length() - 1
            raise BadSpec(
                f"flow: levels is {self.levels}, and this encoder's width of {shape.width} has at most {most}"
            )
        self.glow = Glow(shape.width, self.levels, self.depth, self.width).requires_grad_(False)

    def fits(self, sentences: int) -> None:
        """Raise BadSpec if no sentence can be held out, or too few remain."""
        if self.held_out and int(sentences * self.held_out) < 1:
            least = math.ceil(1 / self.held_out)
            raise BadSpec(
                f"flow: held_out is {self.held_out:g}, which is none of {sentences} sentences; take {least} sentences "
                "or more, or +flow(held_out=0), which takes the last step"
            )
        if sentences - int(sentences * self.held_out) < 2:
            raise BadSpec(f"flow: too few sentences to estimate a variance, {sentences}; take more")

    def fit(self, vectors: Tensor) -> None:
        """Fit the flow to the subset's vectors (N, D). Raises: BadSpec, see fits."""
        self.fits(len(vectors))
        rng = torch.Generator().manual_seed(self.run_seed)
        order, count = torch.randperm(len(vectors), generator=rng), int(len(vectors) * self.held_out)
        held_out, batches = vectors[order[:count]], _batches(vectors[order[count:]], self.batch_size, rng)
        self.glow.requires_grad_(True)
        with torch.enable_grad():
            self._train(batches, held_out, rng)
        self.glow.requires_grad_(False)  # the encoder's own optimiser shall leave it alone

    def _train(self, batches: Iterator[Tensor], held_out: Tensor, rng: torch.Generator) -> None:
        optimizer = AdamW(self.glow.parameters(), lr=self.learning_rate, eps=1e-6, weight_decay=0.01)
        self.glow(next(batches), rng)
        best, best_state = self.likelihood(held_out), copy.deepcopy(self.glow.state_dict())
        for step in range(1, self.steps + 1):
            x = next(batches)
            loss = -self.glow(x)[1].mean() / (x.shape[1] * math.log(2))  # bits per coordinate
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(self.glow.parameters(), LARGEST)
            optimizer.step()
            if (
                len(held_out)
                and (step % self.every == 0 or step == self.steps)
                and (now := self.likelihood(held_out)) > best
            ):
                best, best_state = now, copy.deepcopy(self.glow.state_dict())
        optimizer.zero_grad(set_to_none=True)  # no gradient is left that the encoder's own optimiser could see
        if len(held_out):
            self.glow.load_state_dict(best_state)

    @torch.no_grad()
    def likelihood(self, vectors: Tensor) -> float:
        """Return the mean log p of vectors (N, D), in nats; 0 for none."""
        total = sum(float(self.glow(batch)[1].sum()) for batch in torch.split(vectors, AT_ONCE))
        return total / max(len(vectors), 1)

    def forward(self, vectors: Tensor) -> Tensor:
        return torch.cat([self.glow(batch)[0] for batch in torch.split(vectors, AT_ONCE)])


def _batches(vectors: Tensor, size: int, rng: torch.Generator) -> Iterator[Tensor]:
    """Yield batches without end, every vector once per epoch."""
    while True:
        for rows in torch.split(torch.randperm(len(vectors), generator=rng), size):
            yield vectors[rows]
