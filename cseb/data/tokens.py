"""Sentences as token ids, cut once and padded batch by batch. No torch here."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Ids = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Padded:
    """B sentences side by side. ids, mask, content: (B, T); anchor: (B,). See parts.EncodedView and parts.States."""

    ids: Ids
    mask: Ids
    content: Ids
    anchor: Ids


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
