"""Live objects from specs: every option checked, everything refused before anything trains."""

from collections.abc import Callable
from pathlib import Path

import pytest
from torch import Tensor

from cseb.errors import BadSpec, CsebError
from cseb.methods.grammar import parse_method
from cseb.methods.spec import Part
from cseb.parts import LossInputs
from cseb.registry import METHODS, SLOTS
from cseb.training.build import build, check
from tests.conftest import save_deep_encoder
from tests.training.small_runs import DECODERS_ONLY

Tiny = Callable[[str], Path]


@pytest.mark.parametrize(("slot", "name"), [(slot, name) for slot, registry in SLOTS.items() for name in registry])
def test_every_name_resolves_to_something_documented(slot: str, name: str) -> None:
    thing = SLOTS[slot][name]
    assert thing.__doc__
    if name not in ("none", "recipe"):
        assert "Source:" in thing.__doc__, f"{name} does not say where it comes from"


@pytest.mark.parametrize(
    ("method", "message"),
    [
        ("simcse+infonce(temperature=0)", "infonce: temperature is 0; it must be above 0"),
        ("simcse+infonce(temperature=hot)", "infonce: temperature is 'hot'; a finite number is needed"),
        ("simcse+infonce(negatives=all)", "infonce: negatives is 'all'; allowed: 'batch', 'zeroed'"),
        ("simcse+ami(weight=heavy)", "ami: weight is 'heavy'; a finite number"),
        ("simcse+ami(layers=(7,8))", "this encoder has layers 0 to 1"),
        ("simcse+ami(samples=1,layers=(0,1))", "ami: samples is 1"),
        ("simcse+moco(size=0)", "queue: size is 0"),
        ("simcse+moco(momentum=2)", "queue: momentum is 2; it must lie between 0 and 1"),
        ("msse+reconstruct(heads=5)", "it must divide the width of the encoder, 16"),
        ("simcse+recipe(steps=-1)", "recipe: steps is -1"),
        ("simcse+recipe(steps=10,warmup=11)", "warmup is 11 of 10 steps"),
        ("simcse+recipe(precision=fp8)", "recipe: precision is 'fp8'; allowed: 'fp32', 'tf32', 'bf16', 'fp16'"),
        ("simcse+recipe(dropout=0)", "dropout rates are all 0"),
        ("simcse+recipe(dropout=high)", "recipe: dropout is 'high'"),
        ("simcse-infonce", "has no loss term"),
        ("simcse+first_last(first=3)", "first_last: first is 3; allowed: 0, 1"),
        ("simcse+mlp(keep=maybe)", "mlp: keep is 'maybe'; allowed: True, False"),
        (
            "simcse+recipe(optimizer=sgd)",
            "recipe: optimizer is 'sgd'; allowed: 'adamw', 'adamw_hf', 'adamw_uncorrected', "
            "'adamw_hf_matrix_decay', 'adamw_uncorrected_matrix_decay', 'rmsprop'",
        ),
        ("simcse+recipe(schedule=piecewise)", "schedule=piecewise needs rising steps from 0"),
        ("simcse+recipe(pieces=((0,1.0),))", "others need ()"),
        ("ct+recipe(pieces=((1,1.0),))", "recipe: pieces is ((1, 1.0),); schedule=piecewise needs rising steps from 0"),
        ("ct+recipe(pieces=5)", "recipe: pieces is 5"),
        ("ct+recipe(pieces=((0,2),))", "recipe: pieces is 2; it must lie between 0 and 1"),
        ("ct+random_pairs(negatives=0)", "random_pairs: negatives is 0"),
        ("mirror+char_span_mask(span=0)", "char_span_mask: span is 0"),
        ("informin-cl+reconstruction(form=cosine)", "reconstruction: form is 'cosine'"),
        ("informin-cl+mlm(corrupt_contrast=both)", "mlm: corrupt_contrast is 'both'"),
        ("simcse+paraphrase", "paraphrase: file is missing"),
        ("simcse+unit_halves+compose", "unit_halves: file is missing"),
        ("simcse+halves", "halves gives parts of sentences, and nothing composes them; add +compose"),
        ("simcse+compose", "the views are whole sentences, there is nothing to compose; add +halves"),
        ("compcse", "compose: first is 256; this encoder's vectors have 16 coordinates"),
        ("compcse+compose(first=none)+ami(layers=(0,1))", "a composed view has no tokens"),
        ("compcse+compose(first=8)+moco", "a queue has whole sentences"),
        ("first_last+jsd_local_global", "jsd_local_global: this pooler gives no vectors of tokens; add +cnn_mean"),
    ],
)
def test_an_option_that_cannot_be_is_refused_by_name(tiny: Tiny, method: str, message: str) -> None:
    with pytest.raises(CsebError) as caught:
        check(parse_method(method).at(1.0), tiny("bert"))
    assert message in str(caught.value)


def test_a_queue_is_checked_against_the_subset(tiny: Tiny) -> None:
    method = parse_method("simcse+moco").at(1.0)
    check(method, tiny("bert"))
    check(method, tiny("bert"), sentences=384)
    with pytest.raises(BadSpec, match="queue: size is 384, but this subset has 383 sentences"):
        check(method, tiny("bert"), sentences=383)


@pytest.fixture(scope="module")
def deep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("deep")
    save_deep_encoder(folder)
    return folder


@pytest.mark.parametrize("name", [name for name in METHODS if name not in DECODERS_ONLY])
def test_every_method_fits_an_encoder_of_twelve_layers(name: str, deep: Path) -> None:
    here = {"diffcse": "+rtd(generator=self)"}  # its own generator is elsewhere, and so are teachers
    here |= {
        each: "+outside_teacher(encoder=any)" for each in METHODS if "outside_teacher" in str(METHODS[each].stages)
    }
    found = [parse_method(name + here.get(name, "")).at(fraction) for fraction in (0.001, 0.01, 0.1, 1.0)]
    for method in {one.resolved(): one for one in found}.values():
        check(method, deep)


def test_new_weights_depend_on_the_seed_alone(tiny: Tiny) -> None:
    method = parse_method("simcse").at(1.0)
    heads = [build(method, tiny("bert"), seed).encoder.head.dense.weight for seed in (0, 0, 1)]
    assert heads[0].equal(heads[1])
    assert not heads[0].equal(heads[2])


def test_a_part_of_another_package_is_checked_against_its_own_signature(tiny: Tiny) -> None:
    class Foreign:
        """Source: a test."""

        needs: frozenset[str] = frozenset()
        views = 2

        def __init__(self, strength: float, power: float = 2.0) -> None:
            self.strength, self.power = strength, power

        def __call__(self, step: LossInputs) -> Tensor:
            return step.views[0].z.mean()

    from cseb.training.construct import instantiate

    registry = SLOTS["terms"]
    registry.targets["foreign"] = "unused:unused"
    original = type(registry).__getitem__
    type(registry).__getitem__ = lambda self, name: Foreign if name == "foreign" else original(self, name)
    try:
        assert instantiate(Part("foreign", (("strength", 3.0),)), None).power == 2.0
        with pytest.raises(BadSpec, match="needs a value for strength"):
            instantiate(Part("foreign"), None)
        with pytest.raises(BadSpec, match="no option 'strenth'; did you mean strength"):
            instantiate(Part("foreign", (("strenth", 1),)), None)
    finally:
        type(registry).__getitem__ = original
        del registry.targets["foreign"]
