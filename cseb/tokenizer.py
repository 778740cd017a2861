"""Tokenizers and what they make of sentences, kept from one job of a process to the next."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from transformers import AutoTokenizer

from cseb.errors import BadData, first_line

MOST = 20_000  # sentences; of more than that the ids are not kept
Ids = list[list[int]]


def read(folder: Path, trust_remote_code: bool) -> Any:
    """The tokenizer of an encoder, read again only if a file of its folder has changed. Raises: BadData."""
    files = sorted(path for path in folder.glob("*") if path.suffix != ".safetensors" and path.is_file())
    return _read(folder, trust_remote_code, tuple((path.name, path.stat().st_mtime_ns) for path in files))


@functools.lru_cache(maxsize=2)
def _read(folder: Path, trust_remote_code: bool, _files: tuple[tuple[str, int], ...]) -> Any:
    try:
        return AutoTokenizer.from_pretrained(folder, trust_remote_code=trust_remote_code)
    except Exception as error:  # transformers raises whatever its parsers do
        raise BadData(f"encoder {folder}: its tokenizer cannot be loaded: {first_line(error)}") from None


def own_ids(tokenizer: Any, texts: Sequence[str]) -> Ids:
    """Ids of each text without special ones, uncut; not to be changed, for they are kept.

    The jobs of a seed train on the same subsets, and all jobs are scored on the same sentences.
    """
    return _ids(tokenizer, texts) if len(texts) > MOST else _kept(tokenizer, tuple(texts))


@functools.lru_cache(maxsize=4)
def _kept(tokenizer: Any, texts: tuple[str, ...]) -> Ids:
    return _ids(tokenizer, texts)


def _ids(tokenizer: Any, texts: Sequence[str]) -> Ids:
    if not tokenizer.is_fast:
        return tokenizer(list(texts), add_special_tokens=False, verbose=False)["input_ids"]  # type: ignore[no-any-return]
    backend = tokenizer.backend_tokenizer  # without the positions and batches that nobody looks at
    backend.no_truncation()
    backend.no_padding()
    return [found.ids for found in backend.encode_batch_fast(list(texts), add_special_tokens=False)]
