"""Pairs to rate."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from cseb.advice.examples import pairs_to_rate, write_pairs
from cseb.data.tables import read_table
from cseb.errors import BadData, BadResults
from cseb.tasks.task import Vectors

SENTENCES = [f"sentence {n}" for n in range(200)]


def circle(sentences: Sequence[str]) -> Vectors:
    """Sentence n at n degrees: neighbours have the highest cosine."""
    degrees = np.radians([int(sentence.split()[1]) for sentence in sentences])
    return np.stack([np.cos(degrees), np.sin(degrees)], axis=1).astype(np.float32)


def test_pairs_range_from_neighbours_to_strangers_and_use_no_sentence_twice() -> None:
    pairs = pairs_to_rate(SENTENCES, 60, [circle])
    assert len({text for pair in pairs for text in pair}) == 120
    apart = sorted(abs(int(a.split()[1]) - int(b.split()[1])) for a, b in pairs)
    assert apart[0] == 1 and apart[-1] > 100
    assert pairs == pairs_to_rate(SENTENCES, 60, [circle])


def test_too_few_sentences_are_refused() -> None:
    with pytest.raises(BadData, match="101 pairs need 202 distinct sentences; the corpus has 200"):
        pairs_to_rate(SENTENCES, 101, [circle])


def test_ratings_are_never_overwritten(tmp_path: Path) -> None:
    write_pairs(tmp_path / "p.csv", [("a, b", 'c "d"')])
    assert read_table(tmp_path / "p.csv").rows == (("a, b", 'c "d"', ""),)
    with pytest.raises(BadResults, match="may contain ratings"):
        write_pairs(tmp_path / "p.csv", [("x", "y")])
