"""Fine-tune a copy of an encoder on pairs of sentences of one class or of two, as SetFit does."""

from __future__ import annotations

from functools import partial

import numpy as np
import torch
import torch.nn.functional as F
from torch.optim import AdamW
from torch.optim.lr_scheduler import LambdaLR

from cseb.data.lines import ClassPairs
from cseb.encoder.device_batches import tensors
from cseb.encoder.encoder import Encoder
from cseb.encoder.random_streams import RandomStreams
from cseb.tasks.task import Embed, Tune
from cseb.tasks.transfer.few_labels import BATCH

WARMUP, CLIP = 0.1, 1.0  # as setfit's and transformers' training arguments


def tuner_of(embed: Embed) -> Tune | None:
    """Return what fine-tunes a copy of the encoder whose method `embed` is; None for any other function."""
    encoder = getattr(embed, "__self__", None)
    return partial(tuned, encoder) if isinstance(encoder, Encoder) else None


def tuned(encoder: Encoder, pairs: ClassPairs, rate: float, seed: int) -> Embed:
    """Return the vectors of a copy, trained on all pairs in their order once so that cosines approach `pairs.same`.

    rate: the highest learning rate. seed: of dropout.
    """
    copy = encoder.sibling().float().requires_grad_(True).train()
    tokens = copy.tokenise(pairs.texts, copy.limit())
    batches = np.split(np.arange(len(pairs.same)), range(BATCH, len(pairs.same), BATCH))
    weights = list(copy.parameters())
    optimizer = AdamW(weights, lr=rate, weight_decay=0.0, fused=True)
    warmup = -(-len(batches) // round(1 / WARMUP))
    schedule = LambdaLR(
        optimizer,
        lambda step: step / warmup if step < warmup else (len(batches) - step) / max(len(batches) - warmup, 1),
    )
    with RandomStreams(seed, copy.device), torch.enable_grad():
        for rows in batches:
            texts = np.concatenate([pairs.left[rows], pairs.right[rows]])
            ids, mask, _, anchor = tensors(tokens.batch(texts, copy.shortest), copy.device)
            pooled = copy.pool(copy.backbone, ids, mask, anchor)
            left, right = (copy.project(pooled) if copy.head.keep else pooled).float().chunk(2)
            same = torch.from_numpy(pairs.same[rows]).to(copy.device)
            torch.autograd.backward(F.mse_loss(F.cosine_similarity(left, right, dim=-1), same))
            torch.nn.utils.clip_grad_norm_(weights, CLIP)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad(set_to_none=True)
    return copy.embed
