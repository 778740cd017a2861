"""Third-party parts and tasks: package, version and a hash of the source, which belong to the identity of a job."""

from __future__ import annotations

import hashlib
import importlib.util
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import NamedTuple

from cseb.methods.part_facts import facts
from cseb.registry import TASKS, package_of

CODE = (".py", ".so", ".pyd")


class ThirdPartySource(NamedTuple):
    """A third-party part, or `task NAME`, with its package, the version of that and a hash of its source files."""

    name: str
    package: str
    version: str
    code: str


def sources(parts: Iterable[str], tasks: Iterable[str] = ()) -> tuple[ThirdPartySource, ...]:
    """Return the source of every third-party part and task, each once. tasks: as records name them, such as sts12@1.

    Raises: UnknownName, BadSpec.
    """
    stated = [facts(name) for name in dict.fromkeys(parts)]
    third_party = [
        ThirdPartySource(part.name, part.package, part.release, code_hash(part.module))
        for part in stated
        if part.third_party
    ]
    for name in dict.fromkeys(re.sub("^(first[0-9]+:)+", "", task.partition("@")[0]) for task in tasks):
        package, release = package_of(TASKS.kind, name)
        if package:
            module = TASKS.targets[name].partition(":")[0]
            third_party.append(ThirdPartySource(f"task {name}", package, release, code_hash(module)))
    return tuple(third_party)


@cache
def code_hash(module: str) -> str:
    """Return 16 hex digits of all source files of the top-level package of a module, which is not imported.

    A part may use any helper of its package, so that a change of any file counts.
    """
    spec = importlib.util.find_spec(module.partition(".")[0])
    digest = hashlib.sha256()
    if spec is not None and spec.submodule_search_locations is not None:
        for folder in map(Path, spec.submodule_search_locations):
            for path in sorted(path for path in folder.rglob("*") if path.suffix in CODE):
                digest.update(f"{path.relative_to(folder).as_posix()}\0".encode() + path.read_bytes() + b"\0")
    elif spec is not None and spec.origin is not None:
        digest.update(Path(spec.origin).read_bytes())
    return digest.hexdigest()[:16]
