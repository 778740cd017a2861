"""Terms of the low-shot baselines with small options, and steps of two views for them."""

from collections.abc import Callable, Sequence
from typing import Any

import torch

from cseb.encoder.interface import EncodedView
from cseb.parts import LossInputs
from cseb.parts.terms.adversarial import VirtualNTXent
from cseb.parts.terms.distillation import RankMSE
from cseb.parts.terms.false_negatives import DebiasedNCE
from cseb.parts.terms.memory_contrast import Smooth

Term = Callable[[LossInputs], torch.Tensor]


def smooth(**options: object) -> Smooth:
    defaults = {"size": 3, "neighbours": 2, "attention": 2.0, "temperature": 0.5, "exclude_same": False, **options}
    return Smooth(**defaults)


def debiased(**options: object) -> DebiasedNCE:
    defaults = {"temperature": 0.5, "threshold": 0.3, "ascents": 0, "size": 0.1, "form": "released", **options}
    return DebiasedNCE(**defaults)


def virtual(**options: object) -> VirtualNTXent:
    defaults = {"temperature": 0.5, "neighbours": 2, "reach": 1.5, "detach": False, **options}
    return VirtualNTXent(**defaults)


def rank_mse() -> RankMSE:
    term = RankMSE(corpus=10, low=-1.0, high=0.9999)
    term.precompute_targets([[torch.randn(10, 4, generator=torch.Generator().manual_seed(9), dtype=torch.float64)]])
    return term


def doubles(rows: object) -> torch.Tensor:
    return torch.as_tensor(rows, dtype=torch.float64)


def step(
    *vectors: object, sids: list[int] | None = None, edits: Sequence[torch.Tensor] = (), **fields: Any
) -> LossInputs:
    """A step whose views and edits are these vectors, before and after the head."""
    blocks = [doubles(rows) for rows in vectors]
    none = torch.zeros(len(blocks[0]), 1, dtype=torch.long)
    numbers = torch.arange(len(blocks[0])) if sids is None else torch.tensor(sids)
    views, further = ([EncodedView(z, z, none, none, none) for z in some] for some in (blocks, edits))
    return LossInputs(views, torch.Generator(), sids=numbers, edits=further, **fields)


def random(rows: int, seed: int = 0, width: int = 4) -> list[torch.Tensor]:
    rng = torch.Generator().manual_seed(seed)
    return [torch.randn(rows, width, generator=rng, dtype=torch.float64).requires_grad_() for _ in range(2)]


def cosine(a: Sequence[float] | torch.Tensor, b: Sequence[float] | torch.Tensor) -> float:
    a, b = (torch.as_tensor(side, dtype=torch.float64) for side in (a, b))
    return (a @ b / a.norm() / b.norm()).item()
