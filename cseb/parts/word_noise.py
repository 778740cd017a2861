"""A view maker with noise on word embeddings at every step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cseb.encoder.encoder import Encoder
from cseb.encoder.interface import EncodedView
from cseb.encoder.random_streams import random_stream
from cseb.errors import BadSpec
from cseb.methods.option_types import DropoutRate, Rate
from cseb.parts.views import Twice

LOUDEST = 0.8  # of a vector's largest number: the upper end of background noise
QUIET = 0.01  # what all background noise of a pass is multiplied by at most
NAMES = ("dropout", "drop")  # of an embedding layer's own dropout


def gaussian(words: Tensor, decibels: Tensor) -> Tensor:
    """Add normal noise to words (B, T, D) at a signal-to-noise ratio (B, T) in decibels."""
    power = words.square().mean(dim=-1) / 10 ** (decibels / 10)  # (B, T)
    return words + torch.randn_like(words) * power.sqrt()[..., None].to(words.dtype)


def centred(words: Tensor) -> Tensor:
    """Subtract the mean of all numbers from words (B, T, D), the effect of the authors' Fourier transform."""
    return words - words.mean()


def background(words: Tensor) -> Tensor:
    """Add weak uniform noise to words (B, T, D), from each vector's minimum to 0.8 of its maximum."""
    high, low = words.amax(dim=-1, keepdim=True), words.amin(dim=-1, keepdim=True)
    drawn = torch.rand_like(words) * (LOUDEST * high - low) + low
    return words + drawn * (QUIET * torch.rand((), device=words.device))


def mix_copies(
    words: Tensor, copies: Sequence[Tensor], chances: Sequence[float], keep: float, spared: Tensor
) -> Tensor:
    """Return the word itself with probability `keep` or where `spared` (B, T), else a copy by its probability.

    words and every copy: (B, T, D).
    """
    drawn = torch.rand(words.shape[:2], device=words.device)
    of_kinds = torch.tensor(chances, dtype=torch.float32, device=words.device)
    which = torch.multinomial(of_kinds, drawn.numel(), replacement=True).view_as(drawn)
    mixed = words
    for number, copy in enumerate(copies):
        noised = (drawn >= keep) & (which == number) & ~spared
        mixed = torch.where(noised[..., None], copy, mixed)
    return mixed


class NoisedWords:
    """Rendering with noise on the word embeddings and without the embedding layer's own dropout."""

    def __init__(self, keep: float, kinds: Sequence[float], snr: tuple[int, int], rate: float) -> None:
        self.keep, self.kinds, self.snr, self.rate = keep, kinds, snr, rate

    def __call__(self, encoder: Encoder, ids: Tensor, mask: Tensor, content: Tensor, anchor: Tensor) -> EncodedView:
        backbone: Any = encoder.backbone
        places = torch.arange(ids.shape[1], device=ids.device)
        spared = (places == anchor[:, None]) & (content == 0)  # the token that is pooled, unless it is a word
        hook = backbone.get_input_embeddings().register_forward_hook(
            lambda module, inputs, words: self.noised(words, spared)
        )
        with hook, without_dropout(getattr(backbone, "embeddings", None)):
            view: EncodedView = encoder(ids, mask, content, anchor)
        return view

    def noised(self, words: Tensor, spared: Tensor) -> Tensor:
        with random_stream("views"):
            low, high = self.snr
            decibels = torch.randint(low, high + 1, words.shape[:2], device=words.device)
            dropped = F.dropout(words, self.rate)
            spared = F.pad(spared, (0, words.shape[1] - spared.shape[1]))  # Longformer pads batches itself
            copies = (gaussian(words, decibels), centred(words), background(words), dropped)
            return mix_copies(words, copies, self.kinds, self.keep, spared)


@contextmanager
def without_dropout(embeddings: nn.Module | None) -> Iterator[None]:
    """Set an embedding layer's own dropout rate to 0 within this context."""
    layers = [layer for name in NAMES if isinstance(layer := getattr(embeddings, name, None), nn.Dropout)]
    rates = [layer.p for layer in layers]
    for layer in layers:
        layer.p = 0.0
    try:
        yield
    finally:
        for layer, rate in zip(layers, rates, strict=True):
            layer.p = rate


class WordNoise(Twice):
    """The sentence twice, each time with its own noise on most positions' word embeddings.

    keep: chance that a position stays as it is. kinds: chances of normal noise, of the mean subtracted, of background
    noise, and of numbers dropped, which together are 1. snr: signal-to-noise ratios of normal noise, from and to, in
    decibels. rate: at which numbers are dropped. The token that is pooled ([MASK] of a prompt, or [CLS]) is spared;
    other prompts and special tokens are not. All other dropout stays on; none is needed. Source: Wang et al. 2023
    (CLSEP), partial word vector augmentation; authors' code. Raises: BadSpec on chances that are none.
    """

    keep: Rate = 0.6  # CLSEP release
    kinds: tuple[float, float, float, float] = (0.3, 0.2, 0.2, 0.3)
    snr: tuple[int, int] = (6, 11)
    rate: DropoutRate = 0.3

    def __post_init__(self) -> None:
        if min(self.kinds) < 0 or abs(sum(self.kinds) - 1) > 1e-6:
            raise BadSpec(
                f"word_noise: kinds is {self.kinds}; allowed: four probabilities of at least 0 whose sum is 1"
            )
        if self.snr[0] > self.snr[1]:
            raise BadSpec(f"word_noise: snr is {self.snr}; the lower ratio comes first")
        if self.keep == 1:
            raise BadSpec("word_noise: keep is 1, so nothing is noised; take less, or +dropout")
        noised = NoisedWords(self.keep, self.kinds, self.snr, self.rate)
        self.renderings = (noised, noised)
