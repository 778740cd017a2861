"""The queue and the encoder that follows: order, momentum, and who never meets whom."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from cseb.parts.networks import Queue, momentum_update, push
from tests.training.small_runs import batch_of, built_of


def test_follow_moves_by_one_minus_momentum() -> None:
    copy, online = torch.tensor([1.0, -2.0], dtype=torch.float64), torch.tensor([3.0, 0.0], dtype=torch.float64)
    momentum_update(copy, online, 0.995)
    assert copy.tolist() == pytest.approx([1.01, -1.99])
    momentum_update(copy, online, 1.0)
    assert copy.tolist() == pytest.approx([1.01, -1.99])


def test_push_puts_the_newest_first_and_drops_the_oldest() -> None:
    a, b, c, d = (torch.tensor([float(i)]) for i in range(4))
    queue = push(torch.cat([a, b]), torch.cat([c, d]), 3)
    assert queue.tolist() == [2.0, 3.0, 0.0]


def queue_of(tiny: Callable[[str], Path], sentences: int, **options: object) -> tuple[Queue, object]:
    built = built_of(tiny, "simcse+recipe(steps=2)")
    defaults = {"size": 3, "momentum": 0.9, "dropout": 0.0, "mask_self": "auto", **options}
    queue = Queue(**defaults)
    queue.start(built.encoder, sentences)
    return queue, built.encoder


def remember(queue: Queue, encoder: object, text: list[str], sids: list[int]) -> None:
    ids, mask, _, anchor = batch_of(encoder, text)
    queue.remember(encoder, ids, mask, anchor, torch.tensor(sids))


def test_queue_starts_empty_and_never_holds_more_than_its_size(tiny: Callable[[str], Path]) -> None:
    queue, encoder = queue_of(tiny, 4)
    assert queue.negatives(torch.tensor([0])) is None
    remember(queue, encoder, ["a man", "a dog"], [0, 1])
    first = queue.negatives(torch.tensor([0, 5]))
    assert first.keys.shape == (2, 16)
    assert first.allowed.tolist() == [[False, True], [True, True]]  # its own old key is no negative
    remember(queue, encoder, ["a cat", "the park"], [2, 3])
    then = queue.negatives(torch.tensor([2]))
    assert then.keys.shape == (3, 16)
    assert then.allowed.tolist() == [[False, True, True]]
    assert not then.keys.requires_grad


SELF = ("sentences", "mask_self", "masked")


@pytest.mark.parametrize(SELF, [(11, "auto", True), (12, "auto", False), (100, True, True), (4, False, False)])
def test_own_keys_are_masked(tiny: Callable[[str], Path], sentences: int, mask_self: object, masked: bool) -> None:
    queue, encoder = queue_of(tiny, sentences, mask_self=mask_self)
    remember(queue, encoder, ["a man"], [0])
    queued = queue.negatives(torch.tensor([0]))
    assert queued.allowed.all().item() is not masked


@pytest.mark.parametrize("momentum", [1.0, 0.75])
def test_keys_come_from_a_copy_that_starts_equal_and_lags(tiny: Callable[[str], Path], momentum: float) -> None:
    queue, encoder = queue_of(tiny, 9, momentum=momentum)
    online = encoder.backbone
    for copy, original in zip(queue.copy.parameters(), online.parameters(), strict=True):
        assert torch.equal(copy, original)
        assert copy is not original
    with torch.no_grad():
        for weight in online.parameters():
            weight.add_(1.0)
    before = [copy.clone() for copy in queue.copy.parameters()]
    remember(queue, encoder, ["a man", "the dog is eating"], [0, 1])
    copied = zip(before, queue.copy.parameters(), strict=True)
    assert all(torch.allclose(old + 1 - momentum, new, atol=1e-6) for old, new in copied)
    ids, mask, *_ = batch_of(encoder, ["a man", "the dog is eating"])
    states = queue.copy(input_ids=ids, attention_mask=mask).last_hidden_state
    assert torch.allclose(queue.keys, encoder.head(states[:, 0]), atol=1e-6)


def test_the_copy_has_its_own_dropout(tiny: Callable[[str], Path]) -> None:
    queue, _ = queue_of(tiny, 9, dropout=0.3)
    rates = {module.p for module in queue.copy.modules() if isinstance(module, torch.nn.Dropout)}
    assert rates == {0.3}
    assert queue.copy.training
