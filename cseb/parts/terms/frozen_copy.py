"""A frozen copy of the initial encoder: its layers as positives, its weights as an anchor (SG-OPT)."""

from __future__ import annotations

import copy
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cseb.encoder.device_batches import in_full
from cseb.encoder.encoder import Encoder
from cseb.encoder.interface import CONTEXT, EMBEDDINGS
from cseb.methods.option_types import Positive
from cseb.parts import LossInputs, Reads, reads
from cseb.parts.base import LossTerm
from cseb.parts.poolers import masked_mean
from cseb.parts.terms.infonce import off_diagonal


@in_full
def multi_layer_nce(anchors: Tensor, layers: Tensor, temperature: float) -> Tensor:
    """Return the cross-entropy of each of a sentence's K layer vectors among those of other sentences, in nats.

    anchors: (B, P). layers: (B, K, P). The K (B - 1) negatives are shared by a row's positives; 0 for one sentence.
    Source: Kim et al. 2021 (SG-OPT); authors' code.
    """
    batch = len(anchors)
    if batch == 1:
        return anchors.sum() * 0
    cosine = torch.einsum("ip,jkp->ijk", F.normalize(anchors, dim=-1), F.normalize(layers, dim=-1)) / temperature
    positive = cosine.diagonal().T  # (B, K)
    negative = off_diagonal(cosine).flatten(1).logsumexp(dim=1, keepdim=True)  # (B, 1)
    return (torch.logaddexp(positive, negative) - positive).mean()


class MultiLayerNCE(LossTerm):
    """Sentence vectors against the mean-pooled layers of a frozen copy, embeddings included, after the head.

    anchor_dropout: that of the copy is on, as released. Source: Kim et al. 2021 (SG-OPT); authors' code.
    """

    version: ClassVar[int] = 2
    requires: ClassVar[str] = "frozen copy"
    needs: ClassVar[frozenset[str]] = frozenset({CONTEXT})
    views: ClassVar[int] = 1
    reads: ClassVar[Reads] = reads("z", "head", views=1, tokens=1)
    temperature: Positive = 0.01  # SG-OPT release
    anchor_dropout: bool = True

    def setup(self, encoder: Encoder) -> None:
        self.frozen = copy.deepcopy(encoder.backbone).requires_grad_(False)

    def forward(self, step: LossInputs) -> Tensor:
        assert step.head is not None
        anchors = step.views[0].z
        pooled = self.pooled(step.views[0].ids, step.views[0].mask)  # (B, L + 1, D)
        layers = step.head(pooled.flatten(0, 1)).view(*pooled.shape[:2], -1)
        return multi_layer_nce(anchors, layers, self.temperature)

    @torch.no_grad()
    def pooled(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Return the mean over real tokens of every layer of the copy: (B, L + 1, D)."""
        self.frozen.train(self.training and self.anchor_dropout)
        outputs: Any = self.frozen(input_ids=ids, attention_mask=mask, output_hidden_states=True, return_dict=True)
        return torch.stack([masked_mean(layer, mask) for layer in outputs.hidden_states], dim=1)


class L2ToInit(LossTerm):
    """Squared distance of the Transformer layers' weights from their initial values.

    freeze_embeddings: the embedding layer is not trained. Source: Kim et al. 2021 (SG-OPT); authors' code.
    """

    preset: ClassVar = {"weight": 0.1}  # SG-OPT release
    requires: ClassVar[str] = "frozen copy"
    needs: ClassVar[frozenset[str]] = frozenset({CONTEXT, EMBEDDINGS})
    views: ClassVar[int] = 1
    reads: ClassVar[Reads] = reads(views=0)
    freeze_embeddings: bool = True

    def __post_init__(self) -> None:
        self.weights: list[nn.Parameter] = []  # the encoder's own

    def setup(self, encoder: Encoder) -> None:
        """Store the weights, and freeze the embeddings if so configured."""
        backbone: Any = encoder.backbone
        if self.freeze_embeddings:
            backbone.embeddings.requires_grad_(False)
        embeddings = {id(weight) for weight in backbone.embeddings.parameters()}
        self.weights = [weight for weight in backbone.parameters() if id(weight) not in embeddings]
        for number, weight in enumerate(self.weights):
            self.register_buffer(f"start_{number}", weight.detach().clone(), persistent=False)

    def forward(self, step: LossInputs) -> Tensor:
        distances = [
            (weight - start).square().sum() for weight, start in zip(self.weights, self.buffers(), strict=True)
        ]
        return torch.stack(distances).sum()
