"""Tokens: padding, masks of content, and the position of a prompt's mask token."""

import numpy as np

from cseb.encoder.tokenizer import Tokens

FLAT, STARTS = np.array([2, 10, 11, 3, 2, 12, 3], dtype=np.int32), np.array([0, 4, 7])
TOKENS = Tokens(flat=FLAT, starts=STARTS, pad=0, prefix=1, suffix=1, anchor=-1)


def test_a_batch_is_padded_to_its_longest_or_further() -> None:
    assert TOKENS.lengths().tolist() == [4, 3]
    batch = TOKENS.batch(np.array([1, 0]))
    assert batch.ids.tolist() == [[2, 12, 3, 0], [2, 10, 11, 3]]
    assert batch.mask.tolist() == [[1, 1, 1, 0], [1, 1, 1, 1]]
    assert batch.content.tolist() == [[0, 1, 0, 0], [0, 1, 1, 0]]
    assert batch.anchor.tolist() == [2, 3]
    assert TOKENS.batch(np.array([1]), 6).ids.shape == (1, 6)


def test_own_tokens_are_a_view_of_the_ids() -> None:
    assert [TOKENS.own(row).tolist() for row in range(len(TOKENS))] == [[10, 11], [12]]
    assert np.shares_memory(TOKENS.own(0), TOKENS.flat)
