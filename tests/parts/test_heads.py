"""Heads against hand-worked numbers."""

import pytest
import torch

from cseb.parts import Shape
from cseb.parts.heads import MLP, Linear, NoHead

SHAPE = Shape(width=2, layers=1, heads=1, mask_token=False, pooled=False, dropout=0.1)
H = torch.tensor([[0.5, -1.0], [2.0, 0.25]], dtype=torch.float64)


def given(head: MLP | Linear) -> MLP | Linear:
    head = head.double()
    with torch.no_grad():
        head.dense.weight.copy_(torch.tensor([[1.0, 0.5], [-0.5, 2.0]]))
        head.dense.bias.copy_(torch.tensor([0.1, -0.2]))
    return head


def test_mlp_is_tanh_of_a_linear_map() -> None:
    found = given(MLP(keep=False, shape=SHAPE))(H)
    assert found.tolist() == [
        pytest.approx([0.0996679946, -0.9852169173]),
        pytest.approx([0.976912495, -0.6043677771]),
    ]


def test_linear_is_the_same_without_tanh() -> None:
    assert torch.allclose(given(Linear(keep=False, shape=SHAPE))(H).tanh(), given(MLP(keep=True, shape=SHAPE))(H))


def test_no_head_changes_nothing() -> None:
    assert NoHead()(H) is H
