"""Tasks as a user names them: `sts`, `stsb,sickr` or `my.tsv`. Nothing is imported but the tasks that are asked for."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from cseb.errors import BadBenchmark, UnknownName
from cseb.registry import MTEB_PREFIX, TASK_GROUPS, TASKS

if TYPE_CHECKING:
    from cseb.tasks.task import Task


FIRST = re.compile(r"(first[1-9][0-9]{0,4}:)(.+)")  # a task on the first numbers of every vector


def parse_names(text: str) -> list[str]:
    """Names of tasks from names, groups and files between commas, each once, in the order first named.

    Raises: UnknownName, BadBenchmark.
    """
    return list(_parse(text))


def recorded_names(words: Iterable[str]) -> tuple[str, ...]:
    """Names as records have them: those of `parse_names`, and any other word as it is, such as `sts12@1`.

    Raises: BadBenchmark.
    """
    found: list[str] = []
    for word in words:
        try:
            found += parse_names(word)
        except UnknownName:
            found.append(word)  # the records say whether they have it
    return tuple(found)


def parse_tasks(text: str) -> list[Task]:
    """The tasks that `parse_names` finds, without their data. Raises: UnknownName, BadBenchmark, BadSpec, BadData."""
    return [_task(word) for word in _parse(text).values()]


def spoken(text: str) -> list[str]:
    """How each of the user's own files was interpreted, one line per file. Raises: as `parse_tasks`."""
    return [task.says() for task in parse_tasks(text) if hasattr(task, "says")]


def _parse(text: str) -> dict[str, str]:
    """By the name of each task the word that says where it is: the name itself, or a path."""
    found: dict[str, str] = {}
    for word in filter(None, map(str.strip, text.split(","))):
        if match := FIRST.fullmatch(word):
            found |= {match[1] + name: match[1] + where for name, where in _parse(match[2]).items()}
            continue
        if word in TASKS or word in TASK_GROUPS or word.startswith(MTEB_PREFIX):
            found |= {name: name for name in TASK_GROUPS.get(word, (word,))}
            continue
        if "." not in word and "/" not in word:
            raise UnknownName("task", word, {*TASKS, *TASK_GROUPS})
        from cseb.tasks import own  # numpy, not needed for a name

        if not own.is_path(word):
            raise UnknownName("task", word, {*TASKS, *TASK_GROUPS})
        for one in own.spread(word):
            if found.setdefault(own.name_of(one), one) != one:
                raise BadBenchmark(
                    f"{found[own.name_of(one)]} and {one} would both be called {own.name_of(one)}; rename one"
                )
    if not found:
        raise BadBenchmark(f"no task is named in {text!r}; write such as sts or {','.join(list(TASKS)[:2])}")
    return found


def _task(word: str) -> Task:
    if match := FIRST.fullmatch(word):
        from cseb.tasks.first_numbers import FirstNumbers

        return FirstNumbers(int(match[1].removeprefix("first").removesuffix(":")), _task(match[2]))
    if word in TASKS:
        task: Task = TASKS[word]
        return task
    if word.startswith(MTEB_PREFIX):
        from cseb.tasks.mteb_tasks import MTEBTask

        return MTEBTask(word)
    from cseb.tasks import own

    return own.task_file(word)
