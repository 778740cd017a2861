"""Mutual information of sentence vectors with local token vectors (IS-BERT)."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from cseb.encoder.autocast import in_full
from cseb.encoder.encoder import Encoder
from cseb.encoder.interface import LAYERS
from cseb.errors import BadSpec
from cseb.parts import LossInputs, Reads, reads
from cseb.parts.base import LossTerm


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
