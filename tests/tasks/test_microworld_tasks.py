"""Tasks of the embedded world: no files, the same scoring."""

import pytest

from cseb import microworld
from cseb.registry import TASK_GROUPS, TASKS
from cseb.tasks.names import parse_tasks


def test_the_table_of_names_agrees_with_the_world() -> None:
    assert TASK_GROUPS["microworld"] == microworld.TASKS
    places = {name for name, place in TASKS.builtin.items() if place.startswith("cseb.tasks.microworld_sts:")}
    assert places == {*microworld.TASKS, microworld.DEV}


@pytest.mark.parametrize("name", ["mw-captions", "mw-dev"])
def test_pairs_are_those_of_the_world(name: str) -> None:
    [task] = parse_tasks(name)
    [subset] = task.load(None).subsets
    assert (subset.left, subset.right, subset.gold) == tuple(microworld.pairs(name))
    assert (task.name, task.version, task.protocol) == (name, microworld.VERSION, "microworld-sts@1")


@pytest.mark.parametrize("name", [*TASK_GROUPS["microworld"], "mw-dev"])
def test_a_task_is_called_what_the_table_calls_it(name: str) -> None:
    assert parse_tasks(name)[0].name == name
