"""DeCLUTR: contrast of spans of one document, and masked-language modelling in its anchors."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Generator, Tensor, nn

from cseb.encoder.interface import LANGUAGE, Shape
from cseb.methods.option_types import Count, Positive, Rate
from cseb.parts import LossInputs, Reads, reads
from cseb.parts.terms.masked_language_modelling import IGNORED, MLM, masked_language
from cseb.parts.terms.pairwise_contrast import nt_xent


class SpanNTXent(nn.Module):
    """Each anchor against the mean of its positives, in both directions, among all others of the batch.

    Spans of the same document that belong to another anchor are negatives too. anchors, positives: as `spans` has them.
    Source: Giorgi et al. 2021 (DeCLUTR), section 3.1; authors' code.
    """

    preset: ClassVar = {"temperature": 0.05, "anchors": 2, "positives": 2}  # DeCLUTR release
    needs: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, temperature: Positive, anchors: Count, positives: Count) -> None:
        super().__init__()
        self.temperature = temperature
        self.spans = (anchors, positives)
        self.views = anchors * (1 + positives)
        self.reads: Reads = reads("z", views=self.views)

    def forward(self, step: LossInputs) -> Tensor:
        """Return a scalar in nats."""
        anchors, positives = self.spans
        z = torch.stack([view.z for view in step.views[: self.views]])  # (V, B, D)
        means = z[anchors:].view(anchors, positives, *z.shape[1:]).mean(dim=1)  # (anchors, B, D)
        return nt_xent(z[:anchors].flatten(0, 1), means.flatten(0, 1), self.temperature)


class AnchorMLM(MLM):
    """MLM in the anchors only, which every other term reads with tokens hidden; positives are unchanged.

    rate, and what is hidden: as MLM. anchors, positives: as `spans` has them. Source: Giorgi et al. 2021 (DeCLUTR),
    section 3.2; authors' code. Raises: BadSpec as MLM.
    """

    preset: ClassVar = {"weight": 1.0, "rate": 0.15, "anchors": 2, "positives": 2}  # DeCLUTR release
    version: ClassVar[int] = 1
    requires: ClassVar[str] = "masked-LM head"
    needs: ClassVar[frozenset[str]] = frozenset({LANGUAGE})

    def __init__(self, rate: Rate, anchors: Count, positives: Count, shape: Shape) -> None:
        super().__init__(rate, corrupt_contrast=True, shape=shape)
        self.spans = (anchors, positives)
        self.reads: Reads = reads("language", views=anchors, tokens=anchors)  # type: ignore[misc]

    def hide(self, ids: Tensor, content: Tensor, rng: Generator) -> tuple[Tensor, Tensor]:
        """Hide tokens as MLM does in the first rows, anchors (A B, T) of (V B, T)."""
        _, positives = self.spans
        rows = len(ids) // (1 + positives)
        hidden, targets = super().hide(ids[:rows], content[:rows], rng)
        return torch.cat([hidden, ids[rows:]]), torch.cat([targets, torch.full_like(ids[rows:], IGNORED)])

    def forward(self, step: LossInputs) -> Tensor:
        """Return a scalar in nats."""
        assert step.language is not None
        assert step.read is not None
        anchors = step.views[: self.spans[0]]
        ids, mask, content = (
            torch.cat([getattr(view, name) for view in anchors]) for name in ("ids", "mask", "content")
        )
        if step.targets is None:  # nobody has hidden anything yet
            ids, targets = super().hide(ids, content, step.rng)
        else:
            targets = step.targets[: len(ids)]
        states, selected = step.read(ids, mask), targets != IGNORED
        return masked_language(step.language(states[selected]), targets[selected])
