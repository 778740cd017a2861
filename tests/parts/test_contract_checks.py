"""The contract of each slot: what a live part must have, and the line that says what it lacks."""

from collections.abc import Mapping

import pytest
import torch

from cseb.encoder.interface import ATTENTIONS, LAYERS
from cseb.errors import BadSpec
from cseb.parts.base import METHODS, check_contract, check_scalar

STATED: Mapping[str, object] = {"needs": frozenset({LAYERS, ATTENTIONS}), "views": 2}


def live(slot: str, **changes: object) -> object:
    """A part that has all its slot asks for, but for these changes; None takes something away."""
    options = {**dict.fromkeys(METHODS[slot], lambda *_: None), **STATED, **changes}
    return type("Part", (), {name: value for name, value in options.items() if value is not None})()


@pytest.mark.parametrize("slot", METHODS)
def test_a_part_that_keeps_its_contract_is_taken(slot: str) -> None:
    check_contract(slot, "mine", live(slot))


@pytest.mark.parametrize(("slot", "method"), [(slot, method) for slot in METHODS for method in METHODS[slot]])
def test_a_method_that_is_missing_or_no_method_is_named(slot: str, method: str) -> None:
    with pytest.raises(BadSpec, match=f"mine: its class has no method {method}; see cseb.parts .* slot {slot}"):
        check_contract(slot, "mine", live(slot, **{method: None}))
    if method != "__call__":  # an instance can be called as its class says
        with pytest.raises(BadSpec, match=f"has no method {method}"):
            check_contract(slot, "mine", live(slot, **{method: 3}))


@pytest.mark.parametrize("slot", ["terms", "pooler", "network"])
@pytest.mark.parametrize(
    ("needs", "message"),
    [(None, "has no needs"), ("layers", "has needs = "), (7, "has needs = 7"), (frozenset({"layerz"}), "layerz")],
)
def test_needs_are_a_set_of_names_that_the_backbone_knows(slot: str, needs: object, message: str) -> None:
    with pytest.raises(
        BadSpec, match=f"mine: its class .*{message}.*; write needs = frozenset\\(\\) or a frozenset of"
    ):
        check_contract(slot, "mine", live(slot, needs=needs))


@pytest.mark.parametrize(
    ("slot", "what"), [("terms", "how many views it compares"), ("views", "how many views it gives")]
)
@pytest.mark.parametrize("views", [None, True, 0, 1.5, "2"])
def test_views_are_a_number_from_one(slot: str, what: str, views: object) -> None:
    problem = "has no views" if views is None else f"has views = {views!r}"
    with pytest.raises(BadSpec, match=f"mine: its class {problem}; write {what}, such as views = 2"):
        check_contract(slot, "mine", live(slot, views=views))


def test_slots_that_count_no_views_need_none() -> None:
    check_contract("head", "mine", live("head", views=None, needs=None))
    check_contract("views", "mine", live("views", needs=None))


def test_a_loss_is_a_tensor_of_one_number() -> None:
    check_scalar("mine", torch.tensor(0.5))
    with pytest.raises(BadSpec, match="mine: returned float; a term returns a tensor of one number"):
        check_scalar("mine", 0.5)
    with pytest.raises(BadSpec, match=r"mine: returned a tensor of shape \(1, 3\); a term returns one number"):
        check_scalar("mine", torch.zeros(1, 3))
