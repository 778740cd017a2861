"""The value of a loss term: one number, which is not summed over examples unsaid."""

import pytest
import torch

from cseb.errors import BadSpec
from cseb.parts.base import check_scalar


def test_a_loss_is_a_tensor_of_one_number() -> None:
    check_scalar("mine", torch.tensor(0.5))
    with pytest.raises(BadSpec, match="mine: returned float; a term returns a tensor of one number"):
        check_scalar("mine", 0.5)
    with pytest.raises(BadSpec, match=r"mine: returned a tensor of shape \(1, 3\); a term returns one number"):
        check_scalar("mine", torch.zeros(1, 3))
