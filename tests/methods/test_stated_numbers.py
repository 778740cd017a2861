"""Every method file states the numbers of its paper, so that a reader needs no other file."""

import ast
from pathlib import Path

import pytest

import cseb.methods
from cseb.methods.spec import Option, preset, recipe

FOLDER = Path(cseb.methods.__file__).parent
FILES = [path for path in sorted(FOLDER.glob("*.py")) if " = Method(" in path.read_text()]


def is_number(value: Option) -> bool:
    if isinstance(value, tuple):
        return bool(value) and all(map(is_number, value))
    return isinstance(value, int | float) and not isinstance(value, bool)


def unstated(call: ast.Call) -> list[str]:
    """Options of one `preset(...)` call that are numbers and are not written there; `recipe(...)` requires its own."""
    name = ast.literal_eval(call.args[0])
    stated = {keyword.arg: ast.unparse(keyword.value) for keyword in call.keywords}
    if name == "recipe" and stated.get("steps") == "0":
        return []
    # a weight of 1 is the absence of a weight
    options = [key for key, value in preset(name).options if is_number(value)]
    required = [key for key in options if not (key.endswith("weight") and dict(preset(name).options)[key] == 1)]
    return [f"{name}({key}=)" for key in required if key not in stated]


def preset_calls(text: str) -> list[ast.Call]:
    calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    return [call for call in calls if isinstance(call.func, ast.Name) and call.func.id == "preset"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_method_file_states_every_number_of_its_parts(path: Path) -> None:
    assert [option for call in preset_calls(path.read_text()) for option in unstated(call)] == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_method_of_a_paper_takes_no_part_from_another_file(path: Path) -> None:
    tree = ast.parse(path.read_text())
    imported = {alias.name for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "replace":
            source = next(keyword.value for keyword in node.keywords if keyword.arg == "source")
            assert ast.unparse(node.args[0]) not in imported or ast.literal_eval(source).startswith("ours"), path.name


def test_an_unstated_number_is_found() -> None:
    assert unstated(preset_calls('preset("infonce")')[0]) == ["infonce(temperature=)"]
    assert unstated(preset_calls('preset("recipe", steps=0)')[0]) == []
    assert "recipe(clip=)" in unstated(preset_calls('preset("recipe", steps=5)')[0])
    with pytest.raises(TypeError, match="warmup"):
        recipe(steps=5, batch_size=4, learning_rate=1e-5, max_length=32, eval_every=5)


def test_what_a_recipe_leaves_out_is_that_of_the_trainer_of_transformers() -> None:
    stated = recipe(steps=5, batch_size=4, learning_rate=1e-5, warmup=0, max_length=32, eval_every=5)
    trainer = {"schedule": "linear", "optimizer": "adamw_hf", "weight_decay": 0.0, "clip": 1.0, "dropout": "model"}
    assert dict(stated.options).items() >= trainer.items()
