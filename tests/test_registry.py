"""Names: found on first use, offered by other packages, and refused with the reason where they cannot be used."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cseb import registry
from cseb.errors import BadSpec, UnknownName
from cseb.methods.part_facts import part_names, slot_of
from cseb.registry import SLOTS, Registry, left_out, offered, package_of
from cseb.tasks.task import SCALES, scale_of

Install = Callable[..., None]
TERMS = {"json": "ours:dumps"}


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Put on the path what an installer writes of a package: name, version 1.0 and entry points."""

    def write(entries: str, package: str = "kit") -> None:
        info = tmp_path / package / f"{package}-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(entries)
        monkeypatch.syspath_prepend(tmp_path / package)
        offered.cache_clear()

    offered.cache_clear()
    yield write
    offered.cache_clear()


def test_a_name_stands_for_what_its_module_holds() -> None:
    names = Registry("term", TERMS)
    assert names["ours"] is json.dumps
    assert list(names) == ["ours"]
    assert len(names) == 1
    assert "theirs" not in names
    with pytest.raises(UnknownName, match="no term is called 'our'; did you mean ours"):
        names["our"]


@pytest.mark.parametrize("target", ["no_such_module:f", "json:no_such_function", "not a name:f"])
def test_a_target_that_is_not_there_is_named(target: str) -> None:
    module, attribute = target.split(":")
    with pytest.raises(BadSpec, match=f"term 'ours' should be {target}, which fails: "):
        Registry("term", {module: f"ours:{attribute}"})["ours"]


def test_a_package_adds_names_to_ours(install: Install) -> None:
    install("[cseb.term]\ntheirs = json:loads\n[cseb.method]\nmy-method = json:load\n[other]\nx = json:loads\n")
    names = Registry("term", TERMS)
    assert list(names) == ["ours", "theirs"]
    assert names["theirs"] is json.loads
    assert Registry("method", {})["my-method"] is json.load
    assert [package_of("term", name) for name in ("theirs", "ours")] == [("kit", "1.0"), ("", "")]
    assert left_out() == ()


@pytest.mark.parametrize(
    ("entry", "fault"),
    [
        ("[cseb.terms]\nx = json:loads", "no group is called cseb.terms; did you mean term behind cseb."),
        ("[cseb.term]\nmy.cosent = json:loads", "a spec cannot name it; letters, digits and _ are needed, .* my_cose"),
        ("[cseb.term]\n2cosent = json:loads", "a spec cannot name it; .* such as my_2cosent"),
        ("[cseb.term]\nco-sent = json:loads", "a spec cannot name it; .* such as co_sent"),
        ("[cseb.term]\nclass = json:loads", "a spec cannot name it"),
        ("[cseb.task]\na.b = json:loads", "a name is of letters, digits, _ and -"),
        ("[cseb.term]\nmean = json:loads", "cseb has a part of this name, in the slot pooler; take another name"),
        ("[cseb.term]\nami = json:loads", "cseb has a part of this name, in the slot terms; take another name"),
    ],
)
def test_a_name_that_cannot_be_used_is_left_out_with_its_reason(install: Install, entry: str, fault: str) -> None:
    install(entry)
    [first] = [offer for offer in offered() if offer.package == "kit"]
    assert first.name not in Registry(first.kind, {})
    [line] = left_out()
    assert line.startswith(f"{first.kind} {first.name!r} of kit 1.0 is left out: ")
    with pytest.raises(UnknownName, match=fault):
        Registry(first.kind, {})["y"]
    assert package_of(first.kind, first.name) == ("", "")


def test_two_packages_cannot_offer_one_name(install: Install) -> None:
    install("[cseb.term]\ntheirs = json:loads\n")
    install("[cseb.term]\ntheirs = json:dumps\n", package="second")
    with pytest.raises(BadSpec, match=r"term 'theirs' is both json:(loads|dumps) and json:(loads|dumps)"):
        Registry("term", TERMS)["ours"]


def test_a_part_belongs_to_one_slot() -> None:
    assert [slot_of(name) for name in ("ami", "queue", "mean", "mlp")] == ["terms", "memory", "pooler", "head"]
    with pytest.raises(UnknownName, match="no part is called 'amii'; did you mean ami"):
        slot_of("amii")
    names = [name for value in SLOTS.values() for name in value.builtin]
    assert len(names) == len(set(names))
    assert {*names, *registry.PRESETS} <= part_names()


def test_a_scale_is_that_of_a_protocol_whatever_its_version() -> None:
    [first, *_] = SCALES
    assert scale_of(f"{first}(a=1)@2") == scale_of(f"{first}@9") == SCALES[first]
    assert scale_of("spearman@1") == ""
