"""Back-translation: a sentence sent through another language and back, every sentence once for good."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from platformdirs import user_cache_path

from cseb.data.bounded import read_lines
from cseb.errors import BadData, BadSpec
from cseb.methods.option_types import Count

LENGTH = 128  # tokens of a translation at most
BATCH = 32  # sentences translated at once
SAVED = 64  # batches between two writes of the cache


class BackTranslation:
    """The sentence, and its translation into another language and back.

    forward, backward: sequence-to-sequence models, from the hub or a local folder; beams: width of their search. cache:
    a folder, "" for the user's own; one file per pair of models and width, lines "sentence TAB translation", which
    `paraphrase(file=...)` reads too. A translation may equal its sentence or be empty: it is kept, `notes` tells the
    share. Source: MSSE, section 3 (English-German-English). Raises: BadData if a model cannot be loaded.
    """

    preset: ClassVar = {  # MSSE, section 3; it names no models
        "forward": "Helsinki-NLP/opus-mt-en-de",
        "backward": "Helsinki-NLP/opus-mt-de-en",
        "beams": 4,
        "cache": "",
    }
    data_seen: ClassVar[str] = "external"
    external: ClassVar[Mapping[str, str]] = {"forward": "model", "backward": "model"}
    requires: ClassVar[str] = "translators"
    views = 2

    def __init__(self, forward: str, backward: str, beams: Count, cache: str) -> None:
        for name, model in (("forward", forward), ("backward", backward)):
            if not model:
                raise BadSpec(f"back_translation: {name} is {model!r}; it must name a translation model or its folder")
        self.models, self.beams = (forward, backward), beams
        folder = Path(cache) if cache else user_cache_path("cseb") / "translations"
        key = hashlib.sha256(repr((*self.models, beams, LENGTH)).encode()).hexdigest()[:12]
        self.file = folder / f"{key}.tsv"
        self.notes: tuple[str, ...] = ()

    def __call__(self, sentences: Sequence[str]) -> tuple[Sequence[str], ...]:
        """N sentences to (sentences, translations). What the cache lacks is translated and added to it."""
        keys = [_line(sentence) for sentence in sentences]
        known = read(self.file)
        lacking = [key for key in dict.fromkeys(keys) if key not in known]
        forward, backward = (_loaded(model) for model in self.models) if lacking else (None, None)
        for chunk in _chunks(sorted(lacking, key=len), SAVED * BATCH):
            there = translate(chunk, forward, self.beams)
            known.update(zip(chunk, translate(there, backward, self.beams), strict=True))
            write(self.file, known)
        found = [known[key] for key in keys]
        same = sum(one == key for one, key in zip(found, keys, strict=True)) / max(len(keys), 1)
        empty = sum(not one for one in found) / max(len(keys), 1)
        self.notes = (f"back_translation: {same:.1%} of the translations equal their sentence, {empty:.1%} are empty",)
        return sentences, found


def translate(sentences: Sequence[str], model: Any, beams: int) -> list[str]:
    """Sentences through one model (see _loaded), in batches, without sampling."""
    import torch

    tokenizer, network = model
    translated: list[str] = []
    with torch.inference_mode():
        for batch in _chunks(sentences, BATCH):
            ids = tokenizer(batch, return_tensors="pt", padding=True, truncation=True, max_length=LENGTH)
            made = network.generate(
                input_ids=ids["input_ids"].to(network.device),
                attention_mask=ids["attention_mask"].to(network.device),
                num_beams=beams,
                do_sample=False,
                max_new_tokens=LENGTH,
            )
            translated += map(_line, tokenizer.batch_decode(made, skip_special_tokens=True))
    return translated


def read(file: Path) -> dict[str, str]:
    """The cache as sentence to translation; empty where there is none. Raises: BadData."""
    try:
        lines = read_lines(file) if file.exists() else []
    except BadData as error:
        raise BadData(f"back_translation: {error}") from None
    return {line.split("\t")[0]: line.split("\t")[1] for line in lines if "\t" in line}


def write(file: Path, known: dict[str, str]) -> None:
    """Put the whole cache in place at once, so that a stopped run leaves the one before. Raises: BadData.

    What other workers have added since it was read is kept.
    """
    known = {**read(file), **known}
    draft = file.with_suffix(f".{os.getpid()}.tmp")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        draft.write_text("".join(f"{key}\t{value}\n" for key, value in known.items()), encoding="utf-8")
        draft.replace(file)
    except OSError as error:
        raise BadData(f"back_translation: {file} cannot be written: {error}") from None


def _loaded(model: str) -> tuple[Any, Any]:
    """Tokenizer and network. Raises: BadData."""
    import torch
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(model, trust_remote_code=False)
        network = AutoModelForSeq2SeqLM.from_pretrained(model, use_safetensors=True, trust_remote_code=False).eval()
    except Exception as error:  # transformers raises whatever its parsers do
        reason = next(iter(str(error).splitlines()), type(error).__name__)[:200]
        raise BadData(
            f"back_translation: {model} cannot be loaded: {reason}; give a local folder, or translate elsewhere and "
            "take +paraphrase(file=...)"
        ) from None
    return tokenizer, network.to("cuda" if torch.cuda.is_available() else "cpu")


def _line(text: str) -> str:
    """Text without tabs and line breaks, so that it fits a line."""
    return " ".join(text.split())


def _chunks(items: Sequence[str], size: int) -> Iterator[list[str]]:
    for start in range(0, len(items), size):
        yield list(items[start : start + size])
