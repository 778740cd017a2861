"""Parse tasks as users name them: `sts`, `first64:stsb` or `my.tsv`. Only the named tasks are imported."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from cseb.errors import BadBenchmark, CsebError, UnknownName
from cseb.registry import MTEB_PREFIX, TASK_GROUPS, TASKS
from cseb.tasks.task import Embed, Items, Loaded, Task, Vectors, calls_encoder

# A task on the first numbers of every vector, or with so many labels of each class.
# Groups: prefix, kind, number, options, task.
VARIANT = re.compile(r"((first|shots|setfit)([1-9][0-9]{0,4})(\([^(),:]*\))?:)(.+)")


def without_variants(name: str) -> str:
    """Return the name of the task itself: stsb for first64:stsb."""
    while match := VARIANT.fullmatch(name):
        name = match[5]
    return name


def parse_names(text: str) -> list[str]:
    """Return the tasks in a list of names, groups and files, each once, in order. Raises: UnknownName, BadBenchmark."""
    return list(_parse(text))


def recorded_names(words: Iterable[str]) -> tuple[str, ...]:
    """Return names as records have them; other words, such as `sts12@1`, are unchanged. Raises: BadBenchmark."""
    names: list[str] = []
    for word in words:
        try:
            names += parse_names(word)
        except UnknownName:
            names.append(word)  # may be a name that only records have
    return tuple(names)


def parse_tasks(text: str) -> list[Task]:
    """Return the tasks of `parse_names`, without their data. Raises: UnknownName, BadBenchmark, BadSpec, BadData."""
    return [_task(word) for word in _parse(text).values()]


def interpretations(text: str) -> list[str]:
    """Return one line per file of the user: how it was interpreted. Raises: as `parse_tasks`."""
    words = dict.fromkeys(map(without_variants, _parse(text).values()))
    return [task.says() for task in map(_task, words) if hasattr(task, "says")]


def _parse(text: str) -> dict[str, str]:
    """Return for the name of each task the word that locates it: the name itself, or a path."""
    words: dict[str, str] = {}
    for word in filter(None, map(str.strip, text.split(","))):
        if match := VARIANT.fullmatch(word):
            words |= {match[1] + name: match[1] + where for name, where in _parse(match[5]).items()}
            continue
        if word in TASKS or word in TASK_GROUPS or word.startswith(MTEB_PREFIX):
            words |= {name: name for name in TASK_GROUPS.get(word, (word,))}
            continue
        if wrong := re.match(r"(first|shots|setfit)\d[^:]*:", word):
            raise BadBenchmark(f"{word!r} begins with {wrong[0]!r}; write {wrong[1]}N:TASK, where N is 1 to 99999")
        from cseb.data.readers import is_saved
        from cseb.tasks import own  # imports numpy, which names do not need

        if not own.is_path(word) and not is_saved(Path(word)):
            raise UnknownName("task", word, {*TASKS, *TASK_GROUPS})
        for path in own.spread(word):
            name = own.name_of(path)
            if words.setdefault(name, path) != path:
                raise BadBenchmark(f"{words[name]} and {path} would both be called {name}; rename one")
    if not words:
        raise BadBenchmark(f"no task is named in {text!r}; write such as sts or {','.join(list(TASKS)[:2])}")
    return words


def _task(word: str) -> Task:
    if match := VARIANT.fullmatch(word):
        from cseb.tasks.transfer.few_labels import SetFit, Shots

        if match[2] == "setfit":
            return SetFit.of(int(match[3]), match[4] or "", _task(match[5]))
        if match[4]:
            raise UnknownName("task", word, {*TASKS, *TASK_GROUPS})
        return (FirstNumbers if match[2] == "first" else Shots)(int(match[3]), _task(match[5]))
    if word in TASKS:
        task: Task = TASKS[word]
        return task
    if word.startswith(MTEB_PREFIX):
        from cseb.tasks.mteb_tasks import MTEBTask

        return MTEBTask(word)
    from cseb.tasks import own

    return own.task_file(word)


class Narrow:
    """The data of a task, scored on the first `width` numbers of each vector; vectors are not normalised again."""

    def __init__(self, inner: Loaded, width: int) -> None:
        self.inner, self.width, self.calls_encoder = inner, width, calls_encoder(inner)
        self.sentences, self.outcome = inner.sentences, inner.outcome
        self.influence, self.clusters = inner.influence, inner.clusters

    def sha256(self) -> str:
        return hashlib.sha256(f"{self.width}\0{self.inner.sha256()}".encode()).hexdigest()

    def items(self, embed: Embed) -> Items:
        def truncated(sentences: Sequence[str]) -> Vectors:
            vectors = embed(sentences)
            if len(vectors) and vectors.shape[1] < self.width:
                raise CsebError(
                    f"vectors have {vectors.shape[1]} numbers, fewer than {self.width}; use a smaller number"
                )
            return vectors[:, : self.width]

        return self.inner.items(truncated)


@dataclass(frozen=True, slots=True)
class FirstNumbers:
    """Another task on the first `width` numbers of every vector."""

    width: int
    task: Task

    @property
    def name(self) -> str:
        return f"first{self.width}:{self.task.name}"

    @property
    def version(self) -> int:
        return self.task.version

    @property
    def protocol(self) -> str:
        kind, _, version = self.task.protocol.rpartition("@")
        return f"{kind}(first {self.width} numbers)@{version}"

    def load(self, data_dir: Path | None) -> Loaded:
        return Narrow(self.task.load(data_dir), self.width)
