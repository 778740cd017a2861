"""View makers that change words: by translation and back, or by noise at every step."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import torch
from platformdirs import user_cache_path
from torch import Tensor, nn

from cseb.data.bounded import read_lines
from cseb.data.files import write_whole, written
from cseb.encoder.encoder import Encoder
from cseb.encoder.interface import EncodedView
from cseb.encoder.random_streams import random_stream
from cseb.errors import BadData, BadSpec, first_line
from cseb.methods.option_types import Count, DropoutRate, Rate
from cseb.parts.base import BasePart
from cseb.parts.views import Twice

LENGTH = 128  # tokens of a translation at most
BATCH = 32  # sentences translated at once
SAVED = 64  # batches between two writes of the cache


class BackTranslation(BasePart):
    """The sentence, and its translation into another language and back.

    The preset models translate English. forward, backward: sequence-to-sequence models, from the hub or a local folder;
    beams: width of their search. cache: a folder, "" for the user's own; one file per pair of models and width, lines
    "sentence TAB translation", which `paraphrase(file=...)` reads too. A translation may equal its sentence or be
    empty: it is kept, and `notes` states the fraction. Source: MSSE, section 3 (English-German-English). Raises:
    BadData if a model cannot be loaded.
    """

    data_seen: ClassVar[str] = "external"
    english: ClassVar[Mapping[str, tuple[str, ...]]] = {"forward": ("Helsinki-NLP/opus-mt-en-de",)}
    external: ClassVar[Mapping[str, str]] = {"forward": "model", "backward": "model"}
    requires: ClassVar[str] = "translators"
    views = 2
    forward: str = "Helsinki-NLP/opus-mt-en-de"  # MSSE, section 3; it names no models
    backward: str = "Helsinki-NLP/opus-mt-de-en"
    beams: Count = 4
    cache: str = ""

    def __post_init__(self) -> None:
        for name, model in (("forward", self.forward), ("backward", self.backward)):
            if not model:
                raise BadSpec(f"back_translation: {name} is {model!r}; it must name a translation model or its folder")
        self.models = (self.forward, self.backward)
        folder = Path(self.cache) if self.cache else user_cache_path("cseb") / "translations"
        key = hashlib.sha256(repr((*self.models, self.beams, LENGTH)).encode()).hexdigest()[:12]
        self.file = folder / f"{key}.tsv"
        self.notes: tuple[str, ...] = ()

    def __call__(self, sentences: Sequence[str]) -> tuple[Sequence[str], ...]:
        """Return (sentences, translations); translate what the cache lacks and add it."""
        keys = [_line(sentence) for sentence in sentences]
        cache = read(self.file)
        missing = [key for key in dict.fromkeys(keys) if key not in cache]
        forward, backward = (_load_model(model) for model in self.models) if missing else (None, None)
        for chunk in _chunks(sorted(missing, key=len), SAVED * BATCH):
            pivot = translate(chunk, forward, self.beams)
            cache.update(zip(chunk, translate(pivot, backward, self.beams), strict=True))
            write(self.file, cache)
        translations = [cache[key] for key in keys]
        same = sum(text == key for text, key in zip(translations, keys, strict=True)) / max(len(keys), 1)
        empty = sum(not text for text in translations) / max(len(keys), 1)
        self.notes = (f"back_translation: {same:.1%} of the translations equal their sentence, {empty:.1%} are empty",)
        return sentences, translations


def translate(sentences: Sequence[str], model: Any, beams: int) -> list[str]:
    """Translate sentences with one model (see _load_model), in batches, without sampling."""
    import torch

    tokenizer, network = model
    translated: list[str] = []
    with torch.inference_mode():
        for batch in _chunks(sentences, BATCH):
            ids = tokenizer(batch, return_tensors="pt", padding=True, truncation=True, max_length=LENGTH)
            outputs = network.generate(
                input_ids=ids["input_ids"].to(network.device),
                attention_mask=ids["attention_mask"].to(network.device),
                num_beams=beams,
                do_sample=False,
                max_new_tokens=LENGTH,
            )
            translated += map(_line, tokenizer.batch_decode(outputs, skip_special_tokens=True))
    return translated


def read(file: Path) -> dict[str, str]:
    """Return the cache, sentence to translation; empty if there is no file. Raises: BadData."""
    try:
        lines = read_lines(file) if file.exists() else []
    except BadData as error:
        raise BadData(f"back_translation: {error}") from None
    return {line.split("\t")[0]: line.split("\t")[1] for line in lines if "\t" in line}


def write(file: Path, cache: dict[str, str]) -> None:
    """Replace the cache file atomically, so that an interrupted run leaves the previous one. Raises: BadData.

    What other workers have added since it was read is kept.
    """
    cache = {**read(file), **cache}
    with written(f"the cache of back_translation, {file},"):
        write_whole(file, [f"{key}\t{value}\n".encode() for key, value in cache.items()])


def _load_model(model: str) -> tuple[Any, Any]:
    """Return tokenizer and network. Raises: BadData."""
    import torch
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(model, trust_remote_code=False)
        network = AutoModelForSeq2SeqLM.from_pretrained(model, use_safetensors=True, trust_remote_code=False).eval()
    except Exception as error:  # transformers raises whatever its parsers do
        raise BadData(
            f"back_translation: {model} cannot be loaded: {first_line(error)}; give a local folder, "
            "or translate elsewhere and take +paraphrase(file=...)"
        ) from None
    return tokenizer, network.to("cuda" if torch.cuda.is_available() else "cpu")


def _line(text: str) -> str:
    """Return the text without tabs and line breaks."""
    return " ".join(text.split())


def _chunks(items: Sequence[str], size: int) -> Iterator[list[str]]:
    for start in range(0, len(items), size):
        yield list(items[start : start + size])


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
            dropped = nn.functional.dropout(words, self.rate)
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
