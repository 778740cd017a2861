"""Back-translation: sentences translated into another language and back, once per sentence, with a cache."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from platformdirs import user_cache_path

from cseb.data.bounded import read_lines
from cseb.data.files import write_whole, written
from cseb.errors import BadData, BadSpec, first_line
from cseb.methods.option_types import Count
from cseb.parts.base import BasePart

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
