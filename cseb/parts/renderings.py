"""How one view of a batch is encoded, where views differ by more than their tokens."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from torch import Tensor, nn

from cseb.parts import EncodedView

if TYPE_CHECKING:
    from cseb.encoder import Encoder


@contextmanager
def dropout_at(backbone: nn.Module, rate: float) -> Iterator[None]:
    """Every dropout rate of the backbone at `rate`, and then as before."""
    own: list[tuple[nn.Module, str, float]] = []
    for module in backbone.modules():
        for name in ("p",) if isinstance(module, nn.Dropout) else ("attention_dropout",):
            if isinstance(held := getattr(module, name, None), float):  # ModernBERT's attention keeps the bare number
                own.append((module, name, held))
                setattr(module, name, rate)
    try:
        yield
    finally:
        for module, name, held in own:
            setattr(module, name, held)


class AtRate:
    """With every dropout rate of the backbone at `rate`."""

    def __init__(self, rate: float) -> None:
        self.rate = rate

    def __call__(self, encoder: Encoder, ids: Tensor, mask: Tensor, content: Tensor, anchor: Tensor) -> EncodedView:
        """Encode B sentences."""
        with dropout_at(encoder.backbone, self.rate):
            view: EncodedView = encoder(ids, mask, content, anchor)
        return view
