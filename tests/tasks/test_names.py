"""Names of tasks: groups, order, typing errors, and nothing imported for a list of them."""

import subprocess
import sys

import pytest

from cseb.errors import BadBenchmark, UnknownName
from cseb.registry import TASK_GROUPS, TASKS
from cseb.tasks.names import parse_names, parse_tasks


def test_groups_are_spelt_out_in_the_order_of_the_papers() -> None:
    assert parse_names("sts") == ["sts12", "sts13", "sts14", "sts15", "sts16", "stsb", "sickr"]
    assert parse_names(" stsb , sts,stsb") == ["stsb", "sts12", "sts13", "sts14", "sts15", "sts16", "sickr"]


def test_no_group_holds_a_development_set_or_an_unknown_name() -> None:
    named = {name for group in TASK_GROUPS.values() for name in group}
    assert {name for name in named if not name.startswith("mteb:")} <= set(TASKS)
    assert not any(name.endswith("dev") for name in named)


@pytest.mark.parametrize(
    ("text", "message"), [("stsbb", "did you mean stsb"), ("sts,xx-yy", "no task is called 'xx-yy'")]
)
def test_an_unknown_name_is_answered(text: str, message: str) -> None:
    with pytest.raises(UnknownName, match=message):
        parse_tasks(text)


@pytest.mark.parametrize("text", ["", " , "])
def test_no_name_at_all_is_answered(text: str) -> None:
    with pytest.raises(BadBenchmark, match="no task is named"):
        parse_tasks(text)


@pytest.mark.parametrize("name", [name for name, target in TASKS.builtin.items() if "tasks.senteval" in target])
def test_a_task_is_called_what_the_table_calls_it(name: str) -> None:
    [task] = parse_tasks(name)
    assert (task.name, task.version) == (name, 1)
    assert "Source:" in (type(task).__doc__ or "")


def test_reading_data_imports_no_torch() -> None:
    code = (
        "import sys, cseb.data.corpus, cseb.tasks.senteval, cseb.tasks.evaluate;"
        "print([name for name in ('scipy', 'torch', 'transformers', 'datasets', 'pandas') if name in sys.modules])"
    )
    text = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert text.stdout.strip() == "[]"
