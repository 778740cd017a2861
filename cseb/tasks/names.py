"""Tasks as a user names them: `sts`, or `stsb,sickr`. Nothing is imported but the tasks that are asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cseb.errors import BadBenchmark, UnknownName
from cseb.registry import TASK_GROUPS, TASKS

if TYPE_CHECKING:
    from cseb.tasks.task import Task

PREFIX = "mteb:"  # of the tasks of that library


def parse_names(text: str) -> list[str]:
    """Names of tasks from names and groups between commas, each once, in the order first named.

    Raises: UnknownName, BadBenchmark.
    """
    names: dict[str, None] = {}
    for word in filter(None, map(str.strip, text.split(","))):
        if word not in TASKS and word not in TASK_GROUPS and not word.startswith(PREFIX):
            raise UnknownName("task", word, {*TASKS, *TASK_GROUPS})
        names |= dict.fromkeys(TASK_GROUPS.get(word, (word,)))
    if not names:
        raise BadBenchmark(f"no task is named in {text!r}; write such as sts or {','.join(list(TASKS)[:2])}")
    return list(names)


def parse_tasks(text: str) -> list[Task]:
    """The tasks that `parse_names` finds, without their data. Raises: UnknownName, BadBenchmark, BadSpec."""
    return [task_of(name) for name in parse_names(text)]


def task_of(name: str) -> Task:
    """The task of this name, ours or one of mteb's. Raises: UnknownName, BadSpec."""
    if name.startswith(PREFIX):
        from cseb.tasks.mteb_tasks import MTEBTask

        return MTEBTask(name)
    task: Task = TASKS[name]
    return task
