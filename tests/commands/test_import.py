"""`import cseb` costs nothing; each name is there, typed, and its example runs as printed."""

import doctest
import inspect
import re
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pytest

import cseb

pytestmark = pytest.mark.xdist_group("api")  # in one process, so that their grid is run once

ROOT = Path(__file__).parents[2]
HEAVY = ("torch", "pandas", "numpy", "transformers", "typer", "pydantic", "scipy", "rich")
CALLS = [name for name in cseb.__all__ if inspect.isfunction(getattr(cseb, name))]


def test_importing_cseb_loads_nothing_else() -> None:
    """Nothing but the version: the module itself takes a millisecond or two, wherever the time is taken."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", "import cseb"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert {name for name in loaded if name.startswith("cseb")} == {"cseb", "cseb.version"}
    assert not loaded & set(HEAVY)


def test_naming_a_function_does_not_load_what_it_needs() -> None:
    script = (
        f"import sys, cseb\nfor name in cseb.__all__:\n    getattr(cseb, name)\n"
        f"assert not {{'torch', 'pandas'}} & set(sys.modules), {HEAVY}"
    )
    subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=True)


def test_every_name_is_there_once_and_a_wrong_one_is_an_attribute_error() -> None:
    assert sorted(set(cseb.__all__)) == sorted(cseb.__all__)
    assert set(cseb.__all__) <= set(dir(cseb))
    assert set(cseb._HOMES) == set(cseb.__all__)
    with pytest.raises(AttributeError, match="no attribute 'trian'"):
        _ = cseb.trian


def test_what_a_type_checker_sees_is_what_is_imported() -> None:
    text = Path(cseb.__file__).read_text("utf-8")
    lines = [line.split() for line in text.splitlines() if re.match("    from cseb.(commands|experiment)", line)]
    seen = {words[3]: words[1] for words in lines}
    assert seen == {name: home for name, home in cseb._HOMES.items() if home != "cseb.errors"}


@pytest.mark.parametrize("name", CALLS)
def test_every_function_is_documented_and_typed(name: str) -> None:
    function = getattr(cseb, name)
    text = inspect.getdoc(function)
    assert "Args:" in text
    signature = inspect.signature(function)
    assert signature.return_annotation is not inspect.Signature.empty
    for parameter in signature.parameters.values():
        assert parameter.annotation is not inspect.Parameter.empty
        assert f"{parameter.name}:" in text, f"{name}: {parameter.name} is not described"


@pytest.mark.parametrize("home", sorted({home for home in cseb._HOMES.values() if home != "cseb.errors"}))
def test_examples_of_docstrings_print_what_they_say(home: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = import_module(home)
    examples = [example for example in doctest.DocTestFinder(exclude_empty=True).find(module) if example.examples]
    monkeypatch.chdir(folder.parent)
    for example in examples:
        said: list[str] = []
        keep: Callable[[str], object] = said.append
        assert doctest.DocTestRunner().run(example, out=keep).failed == 0, "".join(said)
