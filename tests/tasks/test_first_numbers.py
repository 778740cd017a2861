"""Tasks on the first numbers of every vector: what is compared, how they are called, and what is refused."""

import numpy as np
import pytest

from cseb.errors import BadBenchmark, CsebError, UnknownName
from cseb.tasks.evaluate import load_task, score_all
from cseb.tasks.names import parse_names, parse_tasks


def embed(sentences):
    """Letter counts of the first six letters."""
    return np.array([[sentence.count(letter) + 0.1 for letter in "etaoin"] for sentence in sentences], dtype=np.float32)


def test_scores_are_those_of_vectors_cut_by_hand() -> None:
    (narrow,), (plain,) = parse_tasks("first3:toy-mixed"), parse_tasks("toy-mixed")
    ((outcome, items),) = score_all([(narrow, load_task(narrow, None))], embed)
    ((by_hand, expected),) = score_all([(plain, load_task(plain, None))], lambda some: embed(some)[:, :3])
    ((whole, _),) = score_all([(plain, load_task(plain, None))], embed)
    assert outcome == by_hand
    assert np.array_equal(items, expected)
    assert outcome.value != whole.value


def test_names_groups_versions_and_protocols() -> None:
    assert parse_names("first8:open, snli") == ["first8:snli", "first8:banking77", "first8:clinc150", "snli"]
    (narrow,), (plain,) = parse_tasks("first8:snli"), parse_tasks("snli")
    assert (narrow.name, narrow.version) == ("first8:snli", plain.version)
    kind, version = plain.protocol.rsplit("@", 1)
    assert narrow.protocol == f"{kind}(first 8 numbers)@{version}"
    widths = {load_task(f"{first}toy-mixed", None).sha256() for first in ("", "first8:", "first4:")}
    assert len(widths) == 3


@pytest.mark.parametrize("word", ["first8:snlli", "first:snli"])
def test_other_names_are_unknown(word: str) -> None:
    with pytest.raises(UnknownName):
        parse_names(word)


@pytest.mark.parametrize("word", ["first0:snli", "shots0:own.csv", "setfit100000:trec"])
def test_a_number_out_of_range_is_named(word: str) -> None:
    with pytest.raises(BadBenchmark, match=rf"begins with '{word.partition(':')[0]}:'; write .* N is 1 to 99999"):
        parse_names(word)


def test_shorter_vectors_are_refused() -> None:
    (narrow,) = parse_tasks("first7:toy-mixed")
    with pytest.raises(CsebError, match="vectors have 6 numbers, fewer than 7; use a smaller number"):
        score_all([(narrow, load_task(narrow, None))], embed)
