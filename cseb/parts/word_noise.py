"""Noise on word vectors before anything else of the encoder, drawn for each position (CLSEP)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from cseb.encoder.encoder import Encoder
from cseb.encoder.interface import EncodedView
from cseb.encoder.random_streams import apart
from cseb.errors import BadSpec
from cseb.methods.option_types import DropoutRate, Rate
from cseb.parts.views import Twice

LOUDEST = 0.8  # of a vector's largest number: the upper end of background noise
QUIET = 0.01  # what all background noise of a pass is multiplied by at most
NAMES = ("dropout", "drop")  # of an embedding layer's own dropout


def gaussian(words: Tensor, decibels: Tensor) -> Tensor:
    """Words (B, T, D) with normal noise at a signal-to-noise ratio (B, T) in decibels."""
    power = words.square().mean(dim=-1) / 10 ** (decibels / 10)  # (B, T)
    return words + torch.randn_like(words) * power.sqrt()[..., None].to(words.dtype)


def centred(words: Tensor) -> Tensor:
    """Words (B, T, D) less the one mean of all their numbers, which is what the authors' Fourier transform leaves."""
    return words - words.mean()


def background(words: Tensor) -> Tensor:
    """Words (B, T, D) with uniform noise between each vector's lowest and 0.8 of its highest number, made quiet."""
    high, low = words.amax(dim=-1, keepdim=True), words.amin(dim=-1, keepdim=True)
    drawn = torch.rand_like(words) * (LOUDEST * high - low) + low
    return words + drawn * (QUIET * torch.rand((), device=words.device))


def mixed(words: Tensor, copies: Sequence[Tensor], chances: Sequence[float], keep: float, spared: Tensor) -> Tensor:
    """At each position the word itself with chance `keep` or where `spared` (B, T), else a copy by its chance.

    words and every copy: (B, T, D).
    """
    drawn = torch.rand(words.shape[:2], device=words.device)
    of_kinds = torch.tensor(chances, dtype=torch.float32, device=words.device)
    which = torch.multinomial(of_kinds, drawn.numel(), replacement=True).view_as(drawn)
    found = words
    for number, copy in enumerate(copies):
        noised = (drawn >= keep) & (which == number) & ~spared
        found = torch.where(noised[..., None], copy, found)
    return found


class NoisedWords:
    """A rendering with noise on the word vectors; the encoder's dropout right behind them is off."""

    def __init__(self, keep: float, kinds: Sequence[float], snr: tuple[int, int], rate: float) -> None:
        self.keep, self.kinds, self.snr, self.rate = keep, kinds, snr, rate

    def __call__(self, encoder: Encoder, ids: Tensor, mask: Tensor, content: Tensor, anchor: Tensor) -> EncodedView:
        """Encode B sentences."""
        backbone: Any = encoder.backbone
        places = torch.arange(ids.shape[1], device=ids.device)
        spared = (places == anchor[:, None]) & (content == 0)  # the token that is pooled, unless it is a word
        hook = backbone.get_input_embeddings().register_forward_hook(
            lambda module, inputs, words: self.noised(words, spared)
        )
        try:
            with without_dropout(getattr(backbone, "embeddings", None)):
                view: EncodedView = encoder(ids, mask, content, anchor)
        finally:
            hook.remove()
        return view

    def noised(self, words: Tensor, spared: Tensor) -> Tensor:
        """(B, T, D) to (B, T, D)."""
        with apart("views"):
            low, high = self.snr
            decibels = torch.randint(low, high + 1, words.shape[:2], device=words.device)
            dropped = nn.functional.dropout(words, self.rate)
            copies = (gaussian(words, decibels), centred(words), background(words), dropped)
            return mixed(words, copies, self.kinds, self.keep, spared)


@contextmanager
def without_dropout(embeddings: nn.Module | None) -> Iterator[None]:
    """The rate of an embedding layer's own dropout at 0, and then as before."""
    found = [one for name in NAMES if isinstance(one := getattr(embeddings, name, None), nn.Dropout)]
    rates = [one.p for one in found]
    for one in found:
        one.p = 0.0
    try:
        yield
    finally:
        for one, rate in zip(found, rates, strict=True):
            one.p = rate


class WordNoise(Twice):
    """The sentence twice, each time with noise of its own on most positions' word vectors.

    keep: chance that a position stays as it is. kinds: chances of normal noise, of the mean taken off, of background
    noise, and of numbers dropped, which together are 1. snr: signal-to-noise ratios of normal noise, from and to, in
    decibels. rate: at which numbers are dropped. The token that is pooled ([MASK] of a prompt, or [CLS]) is spared;
    other prompts and special tokens are not. All other dropout stays on; none is needed. Source: Wang et al. 2023
    (CLSEP), partial word vector augmentation; authors' code. Raises: BadSpec on chances that are none.
    """

    preset: ClassVar = {"keep": 0.6, "kinds": (0.3, 0.2, 0.2, 0.3), "snr": (6, 11), "rate": 0.3}  # CLSEP release

    def __init__(
        self, keep: Rate, kinds: tuple[float, float, float, float], snr: tuple[int, int], rate: DropoutRate
    ) -> None:
        if min(kinds) < 0 or abs(sum(kinds) - 1) > 1e-6:
            raise BadSpec(f"word_noise: kinds is {kinds}; four chances are needed, 0 or more, that are 1 together")
        if snr[0] > snr[1]:
            raise BadSpec(f"word_noise: snr is {snr}; the lower ratio comes first")
        if keep == 1:
            raise BadSpec("word_noise: keep is 1, so nothing is noised; take less, or +dropout")
        noised = NoisedWords(keep, kinds, snr, rate)
        self.renderings = (noised, noised)
