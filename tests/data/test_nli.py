"""Triples from inference corpora: which premises give one, which hypotheses are chosen, which files are refused."""

from pathlib import Path

import pytest

from cseb.data.lines import CONTRADICTION, ENTAILMENT, nli_triples

SNLI = Path(__file__).parents[2].parent / "shared" / "data" / "snli"
ROWS = [
    (ENTAILMENT, "a  dog runs", "an animal\tmoves"),
    ("neutral", "a dog runs", "a dog is tired"),
    (CONTRADICTION, "a dog runs", "a dog sleeps"),
    (ENTAILMENT, "no other kind", "something"),
    ("-", "a cat", "nobody agreed"),
    (CONTRADICTION, "a cat", "a dog"),
    (ENTAILMENT, "a cat", "an animal"),
    (ENTAILMENT, "a cat", "a pet"),
]


def test_a_premise_with_both_kinds_gives_one_line() -> None:
    lines = nli_triples(ROWS, seed=0)
    assert lines[0] == "a dog runs\tan animal moves\ta dog sleeps"
    assert lines[1] in ("a cat\tan animal\ta dog", "a cat\ta pet\ta dog")
    assert len(lines) == 2


def test_the_seed_chooses_and_other_premises_do_not_matter() -> None:
    assert {nli_triples(ROWS, seed)[1] for seed in range(20)} == {"a cat\tan animal\ta dog", "a cat\ta pet\ta dog"}
    for seed in range(5):
        assert nli_triples(ROWS, seed) == nli_triples(ROWS, seed)
        assert nli_triples(ROWS[4:], seed) == nli_triples(ROWS, seed)[1:]


@pytest.mark.skipif(not SNLI.is_dir(), reason="SNLI's files are not here")
@pytest.mark.parametrize("split", ["dev", "test"])
def test_snli_gives_a_triple_for_every_premise_that_has_both(split: str) -> None:
    columns = [(SNLI / f"{kind}.{split}").read_text(encoding="utf-8").splitlines() for kind in ("labels", "s1", "s2")]
    rows = list(zip(*columns, strict=True))
    lines = nli_triples(rows, seed=0)
    having = [{" ".join(premise.split()) for kind, premise, _ in rows if kind == label} for label in
              (ENTAILMENT, CONTRADICTION)]  # fmt: skip
    assert {line.split("\t")[0] for line in lines} == having[0] & having[1]
    assert len(lines) == len(having[0] & having[1]) > 2_900
    labelled = {(label, " ".join(premise.split()), " ".join(hypothesis.split())) for label, premise, hypothesis in rows}
    for line in lines:
        premise, entailed, contradicting = line.split("\t")
        assert (ENTAILMENT, premise, entailed) in labelled
        assert (CONTRADICTION, premise, contradicting) in labelled
