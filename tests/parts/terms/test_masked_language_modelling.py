"""MLM: hand-worked numbers, which tokens may be hidden, and what the term must have."""

import math

import pytest
import torch

from cseb.encoder.interface import EncodedView, Shape
from cseb.parts import LossInputs
from cseb.parts.terms.masked_language_modelling import IGNORED, MLM, corrupt, masked_language

LOGITS = torch.tensor(
    [[[2.0, 0.0, -1.0], [0.5, 0.5, 0.0], [1.0, 3.0, 0.0]], [[0.0, 0.0, 0.0], [-1.0, 2.0, 1.0], [4.0, 0.0, 0.0]]],
    dtype=torch.float64,
)
LABELS = torch.tensor([[-100, 0, 1], [-100, 2, -100]])
SHAPE = Shape(8, 2, 2, mask_token=True, pooled=False, dropout=0.1, mask_id=4, vocabulary=20, language=True)


def test_mlm_equals_the_sum_written_out() -> None:
    total = 0.0
    for row, column, word in ((0, 1, 0), (0, 2, 1), (1, 1, 2)):
        logits = LOGITS[row, column].tolist()
        total += math.log(sum(map(math.exp, logits))) - logits[word]
    assert masked_language(LOGITS[LABELS >= 0], LABELS[LABELS >= 0]).item() == pytest.approx(total / 3)


def test_selected_tokens_are_hidden_swapped_or_kept() -> None:
    ids = torch.randint(5, 20, (400, 50), generator=torch.Generator().manual_seed(0))
    selected = torch.rand(ids.shape, generator=torch.Generator().manual_seed(1)) < 0.5
    result = corrupt(ids, selected, 4, 20, torch.Generator().manual_seed(2))
    assert result[~selected].equal(ids[~selected])
    hidden = (result[selected] == 4).float().mean().item()
    kept = (result[selected] == ids[selected]).float().mean().item()
    assert hidden == pytest.approx(0.8 + 0.1 / 20, abs=0.02)
    assert kept == pytest.approx(0.1 + 0.1 / 20, abs=0.02)


def step_of(ids: torch.Tensor, seen: list[torch.Tensor], seed: int = 0) -> LossInputs:
    """Two views of two sentences; the passes of the term land in `seen`, its logits are one-hot of the ids it read."""
    mask = torch.tensor([[1, 1, 1, 1, 1, 0], [1, 1, 1, 1, 1, 1]])
    content = torch.tensor([[0, 1, 1, 1, 0, 0], [0, 1, 1, 1, 1, 0]])
    z = torch.zeros(2, 8)

    def read(ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        seen.extend([ids, mask])
        return torch.nn.functional.one_hot(ids, 20).double()

    views = [EncodedView(z, z, ids, mask, content) for _ in range(2)]
    return LossInputs(views, torch.Generator().manual_seed(seed), language=lambda states: 9 * states, read=read)


IDS = torch.tensor([[2, 7, 8, 9, 3, 0], [2, 7, 8, 9, 10, 3]])


def test_specials_and_padding_are_never_hidden_and_the_contrast_stays_clean() -> None:
    seen: list[torch.Tensor] = []
    step = step_of(IDS, seen)
    MLM(rate=1.0, corrupt_contrast=False, shape=SHAPE)(step)
    ids, mask = seen
    assert ids.shape == (4, 6)  # both views in one pass
    outside = torch.cat([view.content for view in step.views]) == 0
    assert ids[outside].equal(torch.cat([IDS, IDS])[outside])
    assert (ids == 4).any()
    assert mask.equal(torch.cat([view.mask for view in step.views]))
    assert step.views[0].ids.equal(torch.tensor([[2, 7, 8, 9, 3, 0], [2, 7, 8, 9, 10, 3]]))


def test_the_targets_are_the_words_before_they_were_hidden() -> None:
    seen: list[torch.Tensor] = []
    step = step_of(IDS, seen)
    loss = MLM(rate=1.0, corrupt_contrast=False, shape=SHAPE)(step).item()
    rest = math.log(math.exp(9) + 19)  # logits are 9 for the word that was read, 0 for the others
    content = torch.cat([view.content for view in step.views]).bool()
    costs = [rest - 9 * (a == b) for a, b in zip(torch.cat([IDS, IDS])[content], seen[0][content], strict=True)]
    assert loss == pytest.approx(sum(map(float, costs)) / len(costs))


def test_the_same_stream_hides_the_same_tokens_and_views_differ() -> None:
    once: list[torch.Tensor] = []
    twice: list[torch.Tensor] = []
    term = MLM(rate=0.5, corrupt_contrast=False, shape=SHAPE)
    assert term(step_of(IDS, once, 3)).equal(term(step_of(IDS, twice, 3)))
    assert once[0].equal(twice[0])
    assert not once[0][:2].equal(once[0][2:])


def test_nothing_selected_costs_nothing() -> None:
    assert MLM(rate=0.0, corrupt_contrast=False, shape=SHAPE)(step_of(IDS, [])).item() == 0


def test_with_a_corrupted_contrast_all_terms_see_what_is_hidden_and_only_that_is_named() -> None:
    term = MLM(rate=0.5, corrupt_contrast=True, shape=SHAPE)
    content = torch.ones_like(IDS)
    hidden, targets = term.hide(IDS, content, torch.Generator().manual_seed(3))
    selected = targets != IGNORED
    assert selected.any()
    assert not selected.all()
    assert torch.equal(targets[selected], IDS[selected])
    assert torch.equal(hidden[~selected], IDS[~selected])
    assert not torch.equal(hidden[selected], IDS[selected])
