"""Live objects from specs: every option checked, everything refused before anything trains."""

from pathlib import Path

import pytest

from cseb.errors import BadSpec
from cseb.methods.grammar import parse_method
from cseb.registry import METHODS, SLOTS
from cseb.training.build import check
from tests.conftest import save_deep_encoder
from tests.training.small_runs import DECODERS_ONLY, Tiny


@pytest.mark.parametrize(("slot", "name"), [(slot, name) for slot, registry in SLOTS.items() for name in registry])
def test_every_name_resolves_to_something_documented(slot: str, name: str) -> None:
    thing = SLOTS[slot][name]
    assert thing.__doc__
    if name not in ("none", "recipe"):
        assert "Source:" in thing.__doc__, f"{name} does not say where it comes from"


@pytest.fixture(scope="module")
def deep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("deep")
    save_deep_encoder(folder)
    return folder


@pytest.mark.parametrize("name", [name for name in METHODS if name not in DECODERS_ONLY])
def test_every_method_fits_an_encoder_of_twelve_layers(name: str, deep: Path) -> None:
    options = {"diffcse": "+rtd(generator=self)"}  # its own generator is elsewhere, and so are teachers
    options |= {
        each: "+outside_teacher(encoder=any)" for each in METHODS if "outside_teacher" in str(METHODS[each].stages)
    }
    values = [parse_method(name + options.get(name, "")).at(fraction) for fraction in (0.001, 0.01, 0.1, 1.0)]
    for method in {value.resolved(): value for value in values}.values():
        check(method, deep)


def test_a_part_larger_than_the_memory_is_refused(tiny: Tiny) -> None:
    with pytest.raises(BadSpec, match=r"relu_mlp.* needs more memory than there is; choose smaller sizes"):
        check(parse_method("simcse+relu_mlp(width=1000000000000)").at(0.1), tiny("bert"))
