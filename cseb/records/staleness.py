"""Decide whether the installed code would give the job of a record other numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cseb.errors import CsebError
from cseb.methods.part_facts import facts, is_part
from cseb.records.method_text import Stated
from cseb.records.record import Record
from cseb.registry import TASKS
from cseb.text import plain
from cseb.version import ENCODER_VERSION, TRAINER_VERSION, WORD_VERSIONS


def stale(record: Record, versions: Mapping[str, int] | None = None, tasks: Mapping[str, Any] = TASKS) -> str:
    """Return why the installed code would give this job other numbers, or "" if it would not.

    versions: of parts by name, in place of the installed ones. tasks: by name, each with a version. Parts and tasks
    that are not installed are not compared.
    """
    compared = [("encoder", str(record.encoder_version), str(ENCODER_VERSION))]
    if record.subset.size:  # otherwise nothing was trained
        compared.append(("trainer", str(record.trainer_version), str(TRAINER_VERSION)))
    compared += [(part.part.name, str(part.version), str(_version_now(part, versions))) for part in record.parts]
    for task in record.protocol.tasks:
        name, _, version = task.rpartition("@")
        if not name or not version.isascii() or not version.isdigit():
            return f"the version of {plain(task)!r} cannot be read"
        compared.append((name, version, str(tasks[name].version) if name in tasks else version))
    for name, version, now in compared:
        if version != now:
            return plain(f"made with {name}@{version}, now {name}@{now}")
    return ""


def other_versions(record: Record) -> tuple[str, ...]:
    """Return the parts of another version than the installed one, such as `denoise@1`.

    Empty if nothing is out of date, or if something other than a part is: the encoder, the trainer or a task.
    """
    if stale(record, {part.part.name: part.version for part in record.parts}):
        return ()
    return tuple(part.named for part in record.parts if part.version != _version_now(part, None))


def _version_now(stated: Stated, versions: Mapping[str, int] | None) -> int:
    """Return the installed version of a part; that of the record if its package is not installed or cannot be used."""
    name = stated.part.name
    if versions is not None:
        return versions.get(name, 1)
    if name == "words":  # the bag-of-words baselines, which are no parts
        return WORD_VERSIONS.get(str(stated.options.get("count")), stated.version)
    if not is_part(name):
        return stated.version
    try:
        return facts(name).version
    except CsebError:
        return stated.version
