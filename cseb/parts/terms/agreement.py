"""Agreement with other models: two networks and groups of edits (PCL), frozen models (RCL), the start (SG-OPT)."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cseb.encoder.device_batches import in_full
from cseb.encoder.encoder import Encoder
from cseb.encoder.interface import EMBEDDINGS
from cseb.methods.option_types import Positive
from cseb.parts import ALL, LossInputs, Reads, reads
from cseb.parts.base import LossTerm, TeacherTerm
from cseb.parts.poolers import masked_mean
from cseb.parts.terms.infonce import cosines, diagonal, info_nce, off_diagonal, row_cosines


def group_logits(anchors: Tensor, others: Tensor, positives: Tensor, temperature: float) -> Tensor:
    """Return (B, A + B - 1): cosines of anchors with A positives, then with other sentences, over the temperature.

    anchors: (B, D). others: (B, D), of which the anchor's own is left out. positives: (A, B, D).
    Source: Wu et al. 2022 (PCL); authors' code.
    """
    own = row_cosines(anchors, positives).T  # (B, A)
    return torch.cat([own, off_diagonal(cosines(anchors, others))], dim=1) / temperature


def group_softmax_bce(logits: Tensor, positives: int) -> Tensor:
    """Return the logistic loss of softmax probabilities used as logits, 1 for the first columns, averaged over entries.

    logits: (B, N). Source: authors' code of PCL, which squashes twice.
    """
    probabilities = logits.softmax(dim=1)
    targets = torch.zeros_like(probabilities)
    targets[:, :positives] = 1
    return F.binary_cross_entropy_with_logits(probabilities, targets)


def _groups(left: LossInputs, right: LossInputs, temperature: float) -> Tensor:
    """Return logits of one network's anchors against the sentences and the group of another."""
    group = torch.stack([view.z for view in (*right.views[1:], *right.edits)])
    return group_logits(left.views[0].z, right.views[0].z, group, temperature)


class GroupSoftmaxBCE(LossTerm):
    """An anchor's further views and edits against other sentences.

    Source: Wu et al. 2022 (PCL), peer-positive contrast; authors' code.
    """

    reads: ClassVar[Reads] = reads("z", views=ALL, edits=ALL)
    temperature: Positive = 0.05  # PCL release

    def forward(self, step: LossInputs) -> Tensor:
        positives = len(step.views) - 1 + len(step.edits)
        return group_softmax_bce(_groups(step, step, self.temperature), positives)


class KLPeers(LossTerm):
    """Two networks have the same distributions over group and batch, each by itself and each against the other.

    reduction: "element", the mean over all entries, as released, or "batchmean", the mean over sentences. Gradients
    reach both networks. Source: Wu et al. 2022 (PCL), peer network cooperation; authors' code.
    """

    networks: ClassVar[int] = 2
    reads: ClassVar[Reads] = reads("z", "peer", views=ALL, edits=ALL)
    temperature: Positive = 0.05  # PCL release
    reduction: Literal["element", "batchmean"] = "element"

    def forward(self, step: LossInputs) -> Tensor:
        assert step.peer is not None
        pairs = [((step, step.peer), (step.peer, step)), ((step, step), (step.peer, step.peer))]
        return torch.stack([self._divergence(main, peer) for main, peer in pairs]).sum()

    def _divergence(self, main: tuple[LossInputs, LossInputs], peer: tuple[LossInputs, LossInputs]) -> Tensor:
        """Return KL(peer || main)."""
        a, b = (_groups(left, right, self.temperature).log_softmax(dim=1) for left, right in (main, peer))
        summands = b.exp() * (b - a)  # (B, A + B - 1)
        return summands.mean() if self.reduction == "element" else summands.sum(dim=1).mean()


def entropy(anchors: Tensor, candidates: Tensor, temperature: float, all_columns: bool) -> Tensor:
    """Return the mean over anchors of -sum_j p_ij log p_ij, p the softmax over all candidates, in nats.

    anchors: (B, D). candidates: (N, D), N >= B; row i is the positive of anchor i and, without all_columns, no summand.
    Gradient flows through both factors.
    """
    logarithms = F.log_softmax(cosines(anchors, candidates) / temperature, dim=1)  # (B, N)
    summands = logarithms.exp() * logarithms
    if not all_columns:
        summands = summands * (~diagonal(summands)).to(summands.dtype)
    return -summands.sum(dim=1).mean()


def regulation(views: Sequence[Tensor], frozen: Sequence[Sequence[Tensor]], temperature: float) -> Tensor:
    """Return InfoNCE of views against frozen vectors, summed over models and views, in nats.

    views: anchors and positives (B, D). frozen: for every model the same two, constants.
    """
    costs = [
        info_nce(z, constant, temperature) for model in frozen for z, constant in zip(views, model[:2], strict=True)
    ]
    return torch.stack(costs).sum()


class Entropy(LossTerm):
    """Entropy of an anchor's distribution over positives and hard negatives; its weight is the paper's phi.

    A weight above 0 makes models more certain, below 0 less. all_columns: also the positive's own summand, the other
    reading of eq. 2. Source: Tan et al. 2022, eq. 2.
    """

    preset: ClassVar = {"weight": 0.01}  # RCL, eq. 2; the weight is its phi
    reads: ClassVar[Reads] = reads("z", views=ALL)
    temperature: Positive = 0.05
    all_columns: bool = False

    def forward(self, step: LossInputs) -> Tensor:
        anchors, *candidates = (view.z for view in step.views)
        return entropy(anchors, torch.cat(candidates), self.temperature, self.all_columns)


class Regulators(TeacherTerm):
    """Anchors and positives against their own vectors from the frozen models of the first training stage.

    average: divide by the number of models; the paper sums. Source: Tan et al. 2022, eq. 3.
    """

    reads: ClassVar[Reads] = reads("z", "frozen", views=2, models=ALL)
    same_width: ClassVar[bool] = True
    temperature: Positive = 0.05  # RCL, eq. 3
    average: bool = False

    def forward(self, step: LossInputs) -> Tensor:
        total = regulation([view.z for view in step.views[:2]], step.frozen, self.temperature)
        return total / len(step.frozen) if self.average else total


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
    needs: ClassVar[frozenset[str]] = frozenset({EMBEDDINGS})
    views: ClassVar[int] = 1
    reads: ClassVar[Reads] = reads(views=0)
    of_own_weights: ClassVar[bool] = True
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
