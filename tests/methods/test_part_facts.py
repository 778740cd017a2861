"""What parts state of themselves, read from their source text, and fingerprints of code."""

import subprocess
import sys

import pytest

from cseb.methods import part_facts as reading
from cseb.methods import source_code as sources
from cseb.methods.fingerprints import COMPUTES_NOTHING, CORE, code
from cseb.methods.grammar import parse_method
from cseb.registry import METHODS, SLOTS


def test_every_part_of_ours_tells_all_without_being_imported() -> None:
    script = (
        "import sys\nfrom cseb.methods.part_facts import facts\nfrom cseb.registry import SLOTS\n"
        "for registry in SLOTS.values():\n    [facts(name) for name in registry]\n"
        "assert not {'torch', 'cseb.parts'} & set(sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
    for registry in SLOTS.values():
        assert all(reading.facts(name).options is not None for name in registry)


def test_every_module_of_the_core_is_there() -> None:
    assert all(sources.place_of(module) for modules in CORE.values() for module in modules)


def test_whatever_trainer_and_encoder_import_is_in_the_core_or_computes_nothing() -> None:
    """A module that the fingerprints forget could change every number, and old records would still count as current."""
    core = {module for modules in CORE.values() for module in modules}
    reached = {
        module for root in ("cseb.training.loop", "cseb.encoder.encoder") for module in sources.reached(root, ("cseb",))
    }
    assert reached - core - set(COMPUTES_NOTHING) == set()
    assert not core & set(COMPUTES_NOTHING)
    assert {"cseb.training.optimisers", "cseb.encoder.random_streams"} <= core


@pytest.mark.parametrize("name", METHODS)
def test_every_method_has_options_its_parts_allow(name: str) -> None:
    for fraction in (0.001, 0.01, 0.1, 1.0):
        parse_method(name).at(fraction).check()


def test_a_stage_is_computed_by_what_it_uses() -> None:
    told = code(parse_method("distillcse").at(1.0), ["stsb@1"])
    assert {"trainer", "encoder", "teacher", "listwise_ce", "cseb.tasks.sts"} <= set(told)
    assert all(len(one) == 16 for one in told.values())
