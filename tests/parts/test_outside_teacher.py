"""A teacher from outside as a stage: its targets, their width, and what is refused."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
import torch

from cseb.errors import BadSpec
from cseb.parts.stages import signed_directions, to_width
from cseb.registry import METHODS
from tests.conftest import SENTENCES
from tests.training.small_runs import Tiny, built_of, encoder_in, letters, run

NAMED = "outside_teacher(encoder=any)"
T = [[2.0, 0.5, 0.1], [-1.0, 0.3, 0.4], [0.5, -1.2, 0.2], [-1.5, 0.1, -0.3], [0.0, 0.3, -0.4]]


def lengths(texts: Sequence[str]) -> np.ndarray:
    return np.array([[len(text), 1.0, text.count("a")] for text in texts], dtype=np.float32)


def test_main_directions_keep_inner_products_best() -> None:
    """Against power iteration, written out, of the sum of outer products."""
    rows = torch.tensor(T, dtype=torch.float64)
    spread = sum(torch.outer(row, row) for row in rows)
    result = signed_directions(rows, 2)
    for column in range(2):
        vector = torch.ones(3, dtype=torch.float64)
        for _ in range(500):
            vector = spread @ vector
            vector = vector / vector.norm()
        spread = spread - (vector @ spread @ vector) * torch.outer(vector, vector)
        assert torch.allclose(result[:, column] * result[:, column].dot(vector).sign(), vector, atol=1e-9)
        assert result[:, column].abs().max() == result[:, column].max()


def test_narrow_vectors_keep_every_inner_product() -> None:
    rows = torch.tensor(T)
    assert to_width([rows], 3)[0].equal(rows)
    padded = to_width([rows, rows], 5)
    assert padded[1].shape == (5, 5)
    assert torch.allclose(padded[0] @ padded[0].T, rows @ rows.T)


def test_few_sentences_lose_nothing_in_a_narrower_student() -> None:
    wide = torch.randn(4, 20, generator=torch.Generator().manual_seed(0))
    result = to_width([wide], 6)[0]
    assert result.shape == (4, 6)
    assert torch.allclose(result @ result.T, wide @ wide.T, atol=1e-4)


def test_every_text_is_asked_for_once_and_a_drawn_view_counts_as_its_sentence(tiny: Tiny) -> None:
    stage = built_of(tiny, f"congen+{NAMED}+outside_teacher(width=own)").outside
    asked: list[list[str]] = []

    def embed(texts: Sequence[str]) -> np.ndarray:
        asked.append(list(texts))
        return lengths(texts)

    targets = stage.targets(embed, [SENTENCES, SENTENCES])
    assert asked == [SENTENCES]
    assert targets[0] is targets[1]
    assert targets[0].numpy().tolist() == lengths(SENTENCES).tolist()
    assert len(stage.targets(embed, [SENTENCES])) == 2


def test_vectors_that_are_not_finite_and_views_of_tokens_are_refused(tiny: Tiny) -> None:
    stage = built_of(tiny, f"congen+{NAMED}").outside
    with pytest.raises(BadSpec, match="vectors of any are not finite"):
        stage.targets(lambda texts: lengths(texts) * np.nan, [SENTENCES])
    with pytest.raises(BadSpec, match="cut into tokens, which it cannot read"):
        stage.targets(lengths, [[[1, 2], [3]]])


def test_a_wider_teacher_is_cut_only_for_terms_that_compare_number_by_number(tiny: Tiny) -> None:
    result = {}
    for name in METHODS:
        stages = METHODS[name].stages
        if stages is not None and stages.name == "outside_teacher":
            built = built_of(tiny, f"{name}+{NAMED}")
            bound = any(getattr(weighted.term, "same_width", False) for weighted in built.terms)
            result[name] = (bound, built.outside.own_width)
    assert all(bound is not own for bound, own in result.values()), result
    unbound = {name for name, (bound, _) in result.items() if not bound}
    assert unbound == {"distil-relational", "gist", "multicsr", "gcse"}


@pytest.mark.parametrize("name", ["congen", "sct"])
@pytest.mark.parametrize(("steps", "rows"), [(2, 8), (99, len(SENTENCES))])
def test_a_bank_holds_every_sentence_that_training_draws(tiny: Tiny, name: str, steps: int, rows: int) -> None:
    recipe = f"recipe(steps={steps},batch_size=4,warmup=0,eval_every={steps})"
    built = built_of(tiny, f"{name}+outside_teacher(encoder=any)+{recipe}")
    run(replace(built, teacher=letters))
    assert {len(bank) for bank in built.terms[0].term.banks(torch.zeros(1))} == {rows}


@pytest.mark.parametrize("pooler", ["mean", "cls"])
def test_the_own_teacher_of_a_raw_encoder_has_its_vectors_before_training(tiny: Tiny, pooler: str) -> None:
    named = "" if pooler == "mean" else f"(pooler={pooler})"
    method = f"distil-mse+{pooler}+own_teacher{named}"
    stage = built_of(tiny, method).outside
    assert (stage.encoder, stage.pooler, stage.own_width) == (str(tiny("bert")), pooler, False)
    untrained = encoder_in(tiny("bert"), pooler).embed
    steps = "recipe(steps=3,batch_size=8,dropout=0,warmup=0,eval_every=1)"
    losses = [loss for _, loss, _ in run(replace(built_of(tiny, f"{method}+{steps}"), teacher=untrained)).curve]
    assert max(losses) < 1e-12
    noisy = run(replace(built_of(tiny, f"{method}+{steps}+recipe(dropout=0.1)"), teacher=untrained)).curve
    assert noisy[0][1] > 1e-6
