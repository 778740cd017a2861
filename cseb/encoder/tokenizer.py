"""Tokenizers, cached between the jobs of a process, and sentences as token ids, padded batch by batch."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from tokenizers import normalizers
from transformers import AutoTokenizer

from cseb.data import bounded
from cseb.data.weights import settings_file
from cseb.errors import BadData, first_line

RowIds = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Padded:
    """B sentences side by side. ids, mask, content: (B, T); anchor: (B,). See parts.EncodedView and parts.States."""

    ids: RowIds
    mask: RowIds
    content: RowIds
    anchor: RowIds


@dataclass(frozen=True, slots=True)
class Tokens:
    """N tokenised sentences, end to end.

    flat: all ids; sentence i is flat[starts[i] : starts[i + 1]], special tokens and prompt included. prefix, suffix:
    how many of those stand before and after the sentence's own tokens. anchor: position of the prompt's mask token,
    counted from the start, or from the end if negative; 0 without a prompt.
    """

    flat: npt.NDArray[np.int32]
    starts: npt.NDArray[np.int64]
    pad: int
    prefix: int
    suffix: int
    anchor: int

    def __len__(self) -> int:
        return len(self.starts) - 1

    def lengths(self) -> npt.NDArray[np.int64]:
        """Tokens of each sentence: (N,)."""
        return np.diff(self.starts)

    def batch(self, rows: npt.NDArray[np.int64], length: int = 0) -> Padded:
        """Return the sentences `rows` (B,), padded to their longest, or to `length` if that is more."""
        sizes = self.starts[rows + 1] - self.starts[rows]
        columns = np.arange(max(int(sizes.max()), length))
        mask = columns < sizes[:, None]  # (B, T)
        where = np.where(mask, self.starts[rows][:, None] + columns, 0)
        content = (columns >= self.prefix) & (columns < (sizes - self.suffix)[:, None])
        anchor = np.full(len(rows), self.anchor) if self.anchor >= 0 else sizes + self.anchor
        flat = self.flat if len(self.flat) else np.array([self.pad])  # where no text has any token
        return Padded(
            np.where(mask, flat[where], self.pad).astype(np.int64),
            mask.astype(np.int64),
            content.astype(np.int64),
            anchor.astype(np.int64),
        )

    def own(self, row: int) -> npt.NDArray[np.int32]:
        """Return a window on the ids of one sentence's own tokens; writing to it changes them."""
        return self.flat[self.starts[row] + self.prefix : self.starts[row + 1] - self.suffix]


MOST = 20_000  # sentences whose ids are cached
FEWEST = 8  # tokens that an encoder must accept, special ones included
Ids = list[list[int]]


def read(folder: Path, trust_remote_code: bool) -> Any:
    """Return the tokenizer of an encoder, cached until a file of its folder changes. Raises: BadData."""
    files = sorted(path for path in folder.glob("*") if path.suffix != ".safetensors" and path.is_file())
    return _read(folder, trust_remote_code, tuple((path.name, path.stat().st_mtime_ns) for path in files))


@functools.lru_cache(maxsize=2)
def _read(folder: Path, trust_remote_code: bool, _files: tuple[tuple[str, int], ...]) -> Any:
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=trust_remote_code)
        bare, full = without_and_with_specials(tokenizer)
        limit = tokenizer.model_max_length
        # As batches are padded and sentences cut here; models are saved with it.
        tokenizer.padding_side = tokenizer.truncation_side = "right"
        if tokenizer.pad_token is None and tokenizer.eos_token is not None:
            tokenizer.pad_token = tokenizer.eos_token  # many decoders have none; padding is masked
    except BaseException as error:  # parsers raise errors of all kinds; a Rust panic is no Exception
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise BadData(f"encoder {folder}: its tokenizer cannot be used: {first_line(error)}") from None
    if not any(full[start : start + len(bare)] == bare for start in range(len(full))):
        raise BadData(f"encoder {folder}: its tokenizer does not put special tokens only before and after a sentence")
    if isinstance(limit, bool) or not isinstance(limit, int | float) or not limit >= FEWEST:
        raise BadData(
            f"encoder {folder}: its tokenizer's model_max_length is {str(limit)[:50]}; {FEWEST} tokens or "
            "more are needed"
        )
    file = settings_file(folder)
    _apply_settings(tokenizer, bounded.read_object(file) if file.is_file() else {})
    return tokenizer


def without_and_with_specials(tokenizer: Any) -> tuple[list[int], list[int]]:
    """Return the ids of a short text without special tokens, and with them."""
    text = _short_text(tokenizer)
    return tokenizer(text, add_special_tokens=False)["input_ids"], tokenizer(text)["input_ids"]


@functools.lru_cache(maxsize=4)
def _short_text(tokenizer: Any) -> str:
    """Return "a", or a word of the vocabulary if the tokenizer makes no token of that letter."""

    def has_token(word: str) -> bool:
        return bool(tokenizer(word, add_special_tokens=False)["input_ids"])

    if has_token("a"):
        return "a"
    words = (word for word in tokenizer.get_vocab() if word not in tokenizer.all_special_tokens)
    return next(filter(has_token, words), "a")


def _apply_settings(tokenizer: Any, settings: dict[str, Any]) -> None:
    """Apply the maximum length and the lower-casing of a sentence-transformers folder, as that library does."""
    longest = settings.get("max_seq_length")
    if type(longest) is int and longest >= FEWEST:
        tokenizer.model_max_length = min(tokenizer.model_max_length, longest)
    if settings.get("do_lower_case") is True and tokenizer.is_fast:
        backend = tokenizer.backend_tokenizer
        steps = [normalizers.Lowercase(), *([backend.normalizer] if backend.normalizer else [])]
        backend.normalizer = normalizers.Sequence(steps)


def own_ids(tokenizer: Any, texts: Sequence[str]) -> Ids:
    """Return the ids of each text, uncut and without special tokens; cached, so they must not be changed."""
    return _ids(tokenizer, texts) if len(texts) > MOST else _cached_ids(tokenizer, tuple(texts))


def _ids(tokenizer: Any, texts: Sequence[str]) -> Ids:
    if not tokenizer.is_fast:
        return tokenizer(list(texts), add_special_tokens=False, verbose=False)["input_ids"]  # type: ignore[no-any-return]
    backend = tokenizer.backend_tokenizer  # faster than the tokenizer, which also returns offsets
    backend.no_truncation()
    backend.no_padding()
    return [encoding.ids for encoding in backend.encode_batch_fast(list(texts), add_special_tokens=False)]


_cached_ids = functools.lru_cache(maxsize=4)(_ids)
