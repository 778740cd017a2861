"""Whether today's code would give the job of a record other numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cseb.errors import BadResults, CsebError
from cseb.methods.part_facts import facts
from cseb.records.method_text import Stated
from cseb.records.record import RecordSummary
from cseb.registry import TASKS, is_part
from cseb.text import plain


def stale(record: RecordSummary, versions: Mapping[str, int] | None = None, tasks: Mapping[str, Any] = TASKS) -> str:
    """Why today's code would give this job other numbers, or "" when it would not.

    versions: of parts by name in place of those the parts state; tasks: by name, each with a version. What is not
    installed here is not judged.
    """
    try:
        stated = record.stated()
    except BadResults as error:
        return plain(str(error))
    held = [(one.part.name, str(one.version), str(_now(one, versions))) for one in stated]
    for task in record.protocol.tasks:
        name, _, version = task.rpartition("@")
        if not name or not version.isascii() or not version.isdigit():
            return f"the version of {plain(task)!r} cannot be read"
        held.append((name, version, str(tasks[name].version) if name in tasks else version))
    for name, version, now in held:
        if version != now:
            return plain(f"made with {name}@{version}, now {name}@{now}")
    return ""


def _now(stated: Stated, versions: Mapping[str, int] | None) -> int:
    """The version of this part now; that of the record where its package is not installed here, or broken."""
    name = stated.part.name
    if versions is not None:
        return versions.get(name, 1)
    if not is_part(name):
        return stated.version
    try:
        return facts(name, False).version
    except CsebError:
        return stated.version
