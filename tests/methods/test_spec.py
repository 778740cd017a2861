"""The grammar: what it reads, what it refuses, and that nothing in it is ever executed."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cseb.errors import BadSpec, CsebError, UnknownName
from cseb.methods.grammar import parse_method, parse_methods, parse_scale
from cseb.methods.part_facts import facts, part_names
from cseb.methods.spec import part, preset
from cseb.registry import METHODS


def options(method: str, name: str, fraction: float = 1.0, scale: str = "") -> dict[str, object]:
    settled = parse_method(method).at(fraction, parse_scale(scale))
    return dict(next(part for part in settled.parts() if part.name == name).options)


def names(method: str) -> list[str]:
    return [part.name for part in parse_method(method).at(1.0).parts()]


@pytest.mark.parametrize(
    "text",
    [
        "simcse",
        "micse+recipe(steps=500)",
        "simcse+ami(weight=0.001,layers=(7, 8),slicing='head_pairs')",
        "micse-ami",
        "msse-dcm-reconstruct",
        "mean+mask_prompt(template='[X] is [MASK].')",
    ],
)
def test_a_method_reads_back_from_its_own_text(text: str) -> None:
    method = parse_method(text)
    again = parse_method(str(method))
    assert again == method
    assert again.at(0.01).resolved() == method.at(0.01).resolved()


def test_the_owners_list() -> None:
    assert [str(method) for method in parse_methods("simcse,micse,msse")] == ["simcse", "micse", "msse"]
    spaced = parse_methods(" simcse , micse + recipe( steps = 500 ) ")
    assert [str(method) for method in spaced] == ["simcse", "micse+recipe(steps=500)"]


def test_plus_updates_a_part_that_is_there_and_adds_one_that_is_not() -> None:
    assert options("micse+ami(weight=0.5)", "ami") == {**options("micse", "ami"), "weight": 0.5}
    assert names("simcse+ami") == [*names("simcse")[:-1], "ami", "recipe"]
    assert names("simcse+moco") == ["dropout", "cls", "mlp", "queue", "infonce", "recipe"]
    assert names("simcse+mean") == ["dropout", "mean", "mlp", "infonce", "recipe"]


def test_minus_takes_a_part_away() -> None:
    assert names("micse-queue-ami") == names("simcse")
    assert names("micse-moco-ami") == names("simcse")
    with pytest.raises(UnknownName, match="no part of simcse is called 'ami'"):
        parse_method("simcse-ami")
    with pytest.raises(BadSpec, match="cannot do without its pooler"):
        parse_method("simcse-cls")


def test_words_and_literals_are_values() -> None:
    result = options("simcse+ami(layers=[1,2],slicing=head_pairs,scale_by_valid=false,weight=-1)", "ami")
    assert result["layers"] == (1, 2)
    assert result["slicing"] == "head_pairs"
    assert result["scale_by_valid"] is False
    assert result["weight"] == -1


def test_per_fraction_then_the_benchmark_then_the_user() -> None:
    assert [options("micse", "ami", fraction)["weight"] for fraction in (0.0005, 0.001, 0.005, 0.1, 0.5, 1.0)] == [
        1e-3, 1e-3, 1e-4, 5e-4, 2.5e-3, 2.5e-3,
    ]  # fmt: skip
    assert options("micse", "ami", 0.01, "ami(weight=7)")["weight"] == 7
    assert options("micse+ami(weight=9)", "ami", 0.01, "ami(weight=7)")["weight"] == 9
    assert names("simcse") == [
        part.name for part in parse_method("simcse").at(1.0, parse_scale("queue(size=2)")).parts()
    ]


def test_a_benchmark_scales_parts_that_a_user_puts_in() -> None:
    assert options("simcse+moco", "queue", 0.01, "queue(size=8)")["size"] == 8
    assert options("simcse+moco(size=5)", "queue", 0.01, "queue(size=8)")["size"] == 5
    assert options("simcse+mean+recipe(steps=3)", "recipe", 0.01, "recipe(steps=8, warmup=1)")["steps"] == 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("micze", "no method is called 'micze'; did you mean micse?"),
        ("osscse", "osscse does not run: no code was found"),
        ("simcse+amy", "no part is called 'amy'; did you mean ami"),
        ("simcse+cosent", r"'cosent' is a method and no part; write cosent\+PART"),
        ("simcse+ami(wait=3)", "ami has no option 'wait'; did you mean weight"),
        ("simcse+ami(3)", "option without a name"),
        ("simcse+ami(**{})", "option without a name"),
        ("simcse+ami(weight=1,weight=2)", "ami has weight twice; give it one value"),
        ("simcse*2", r"only \+ and - may join parts"),
        ("simcse,simcse", "named twice"),
        ("skd+outside_teacher(encoder=a/b-2), simcse", "an option is a/b-2; it must be"),
        ("simcse+ami(weight=open('x'))", "nothing is evaluated"),
        ("__import__('os').system('touch pwned')", "must start with its name"),
        ("simcse+ami(weight=[x for x in ()])", "nothing is evaluated"),
        ("", "is not a spec"),
        ("simcse+", "is not a spec"),
        ("simcse+recipe(learning_rate=0,0001)", r"is not a spec, from '0001\)' on"),
        ("simcse+outside_teacher(encoder=./x)", "names of files in quotes of their own"),
        ("simcse+mean+last+cls", "mean and last are both pooler, of which a method has one; name one of them"),
        ("simcse+lora+last_layers(count=1)", "lora and last_layers are both tuning"),
        ("SimCSE", "did you mean simcse"),
        ("(" * 500, "is not a spec"),
        ("a" * 20_000, "too long"),
        ("simcse+recipe(steps=5)+recipe(stepz=5)", "did you mean steps"),
    ],
)
def test_what_cannot_be_read_is_one_clear_line(text: str, message: str) -> None:
    with pytest.raises(CsebError, match=message):
        parse_methods(text)


GRAMMAR = st.lists(
    st.sampled_from(
        [*METHODS, *sorted(part_names()), "+", "-", "(", ")", ",", "=", "weight", "1e-3", "'", "[", "None", "lambda:0"]
    ),
    max_size=12,
).map("".join)


@given(st.one_of(st.text(max_size=60), GRAMMAR))
def test_no_text_makes_the_reader_stumble(text: str) -> None:
    for read in (parse_methods, parse_method, parse_scale):
        try:
            read(text)
        except CsebError as error:
            assert "\n" not in str(error)


@pytest.mark.parametrize("name", sorted(part_names()))
def test_what_a_name_puts_in_has_every_option(name: str) -> None:
    default = preset(name)
    facts(default.name).check(dict(default.options))
    stated = [option.name for option in facts(default.name).options if option.name not in facts(default.name).unstated]
    assert [key for key, _ in default.options] == stated


def test_a_preset_takes_other_options_and_refuses_what_it_lacks() -> None:
    assert dict(preset("queue", size=64).options) == {**dict(preset("queue").options), "size": 64}
    assert preset("moco") == preset("queue")
    with pytest.raises(BadSpec, match="queue has no option 'sise'; did you mean size"):
        preset("queue", sise=64)


@pytest.mark.parametrize("name", [*METHODS])
def test_every_spec_states_its_source_and_every_option(name: str) -> None:
    method = METHODS[name]
    assert method.name == name
    assert any(character.isdigit() for character in method.source)
    for fraction in (0.0001, 0.001, 0.01, 0.1, 1.0):
        for stated in method.at(fraction).parts():
            assert [key for key, _ in stated.options] == [key for key, _ in preset(stated.name).options]


def test_a_changed_option_changes_the_resolved_text() -> None:
    once = parse_method("simcse").at(1.0).resolved()
    assert parse_method("simcse+infonce(temperature=0.05)").at(1.0).resolved() == once
    assert parse_method("simcse+infonce(temperature=0.06)").at(1.0).resolved() != once


@pytest.mark.parametrize(
    ("usual", "other"),
    [
        ("chunk=0", "chunk=8"),
        ("activation_checkpointing=false", "activation_checkpointing=True"),
        ("batch=shuffled", "batch='no_duplicates'"),
    ],
)
def test_a_later_option_is_stated_only_where_it_is_not_the_usual_one(usual: str, other: str) -> None:
    """So that keys stay what they were."""
    plain = parse_method("simcse").at(1.0).resolved()
    assert f" {usual.partition('=')[0]}=" not in plain
    assert parse_method(f"simcse+recipe({usual})").at(1.0).resolved() == plain
    assert f", {other})" in parse_method(f"simcse+recipe({other})").at(1.0).resolved()


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("mean", ()),
        ("mean+sif", ("subset",)),
        ("bert-flow", ("subset",)),
        ("distillcse", ("subset",)),
        ("diffcse", ("external", "subset")),
        ("diffcse+rtd(generator=self)", ("subset",)),
        ("skd+outside_teacher(encoder='cseb-mini')", ("external", "subset")),
        ("skd+own_teacher", ("subset",)),
    ],
)
def test_data_seen_are_those_of_training_and_of_what_is_fitted(text: str, seen: tuple[str, ...]) -> None:
    assert parse_method(text).at(1.0).data_seen() == seen


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("micse-litteral", "no part of micse is called 'litteral'"),
        ("msse-litteral", "nor a method 'msse-litteral'; did you mean msse-literal"),
        ("my-cosentt", "no method is called 'my-cosentt'"),
        ("simcse-trim", "no part of simcse is called 'trim'; known: cls, dropout, infonce, mlp, recipe"),
        ("simcse-dropout", r"without its views; put another in its place, such as \+paraphrase"),
        ("simcse-recipe", r"change it with \+recipe\("),
        ("infonce", "infonce is a part: such as simcse.infonce"),
    ],
)
def test_a_name_near_a_method_or_a_part_is_answered_as_a_whole(text: str, message: str) -> None:
    with pytest.raises(CsebError, match=message):
        parse_method(text)


def test_a_method_may_name_some_options_of_a_part_and_no_others() -> None:
    """As a method of another package writes it: the rest are the part's defaults."""
    own = replace(METHODS["simcse"], terms=(part("infonce", temperature=0.1),)).at(1.0)
    assert own.resolved() == parse_method("simcse+infonce(temperature=0.1)").at(1.0).resolved()
    with pytest.raises(BadSpec, match=r"^infonce has no option 'rate'; known: form, hard_weight, negatives"):
        replace(METHODS["simcse"], terms=(part("infonce", rate=0.2),)).at(1.0)
