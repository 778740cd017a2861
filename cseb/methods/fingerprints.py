"""Which code a job is computed by: a fingerprint of every part, of the trainer and of the tasks, for its record.

Code of other packages belongs to the identity of a job; that of cseb itself is written down beside it, so that records
of different code are never mixed without a word. What a record says is worked out once in the life of a process.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache

from cseb.methods import source_code as sources
from cseb.methods.equal_code import latest
from cseb.methods.part_facts import HOME, Facts, facts
from cseb.methods.spec import Method
from cseb.registry import TASKS, package_of

CONTRACT = ("cseb.parts", "cseb.parts.contract_checks")  # what parts are given; it computes nothing
PARTS = ("cseb.parts",)
MEASURES = ("cseb.tasks", "cseb.tasks.transfer.senteval_reference", "cseb.statistics")
OUTSIDE_TASKS = (
    *("cseb.tasks", "cseb.tasks.task", "cseb.tasks.names", "cseb.tasks.evaluate", "cseb.tasks.folder"),
    "cseb.tasks.influence",  # intervals, which no record holds
)

# What every trained job goes through: what records call it, and its modules.
CORE: Mapping[str, tuple[str, ...]] = {
    "trainer": (
        *(
            "cseb.training.loop",
            "cseb.training.objective",
            "cseb.training.batches",
            "cseb.training.build",
            "cseb.training.live_parts",
            "cseb.training.checkpoints",
            "cseb.training.early_stopping",
            "cseb.training.optimisers",
            "cseb.training.schedule",
            "cseb.methods.recipe",
            "cseb.encoder.distributed",
        ),
        *("cseb.data.subset", "cseb.seeds"),
    ),
    "encoder": (
        *(
            "cseb.encoder.encoder",
            "cseb.encoder.loading",
            "cseb.encoder.tokenizer",
            "cseb.encoder.mlm_heads",
            "cseb.encoder.linear",
            "cseb.encoder.packing",
            "cseb.encoder.side_by_side",
            "cseb.encoder.dropout",
            "cseb.encoder.autocast",
            "cseb.encoder.random_streams",
            "cseb.encoder.static_embedding",
        ),
        "cseb.data.tokens",
    ),
}
# What trainer and encoder import besides: contracts, names, checks, and readers of files whose content has a sha256 of
# its own. None of it decides a number.
COMPUTES_NOTHING = (
    *(
        "cseb",
        "cseb.version",
        "cseb.data",
        "cseb.encoder",
        "cseb.methods",
        "cseb.training",
        "cseb.errors",
        "cseb.progress",
        "cseb.text",
        "cseb.registry",
    ),
    *("cseb.data.bounded", "cseb.data.checkpoint", "cseb.data.files", "cseb.data.tensors", "cseb.encoder.architecture"),
    *("cseb.data.static_tables", "cseb.data.word_vector_files", "cseb.data.packaged_vectors"),
    *("cseb.data.bidirectional", "cseb.encoder.bidirectional"),
    *("cseb.encoder.interface", "cseb.encoder.families"),
    *("cseb.methods.option_types", "cseb.methods.part_facts", "cseb.methods.source_code", "cseb.methods.spec"),
    *("cseb.records", "cseb.records.progress"),
    *CONTRACT,
    "cseb.training.compatibility",
    "cseb.training.unread_parts",
)
OWN_TASKS, MTEB_TASKS = "cseb.tasks.own", "cseb.tasks.mteb_tasks"


def foreign(parts: Iterable[str], tasks: Iterable[str] = ()) -> tuple[tuple[str, str, str, str], ...]:
    """(name, package, version, fingerprint of its code) for every part and task of another package.

    parts: by name; tasks: as records have them, name@version. Raises: UnknownName, BadSpec.
    """
    found = [_foreign(name) for name in dict.fromkeys(parts)]
    found += [_foreign_task(task.partition("@")[0]) for task in dict.fromkeys(tasks)]
    return tuple(one for one in found if one is not None)


def code(method: Method, tasks: Iterable[str]) -> dict[str, str]:
    """What a job of this settled method is computed by: name to fingerprint. tasks: as in a protocol."""
    trained = {"trainer": _of(CORE["trainer"])} if method.terms else {}
    return trained | standing((part.name for part in method.parts()), tasks)


def standing(parts: Iterable[str], tasks: Iterable[str]) -> dict[str, str]:
    """What an encoder as it stands is scored by, with these parts behind it."""
    return {"encoder": _of(CORE["encoder"])} | parts_code(parts) | tasks_code(tasks)


def parts_code(names: Iterable[str]) -> dict[str, str]:
    """Part to fingerprint of the modules of cseb that it is computed by; those it uses by name are with it."""
    return {name: found for name in dict.fromkeys(names) if (found := _of(_modules(name)))}


def tasks_code(tasks: Iterable[str]) -> dict[str, str]:
    """Module of tasks, such as cseb.tasks.sts, to the fingerprint of all it is scored by."""
    homes = {_task_module(task.partition("@")[0]) for task in tasks if task}
    return {home: found for home in sorted(homes) if (found := _of(sources.reached(home, MEASURES, OUTSIDE_TASKS)))}


def changed(then: Mapping[str, str], now: Mapping[str, str]) -> tuple[str, ...]:
    """Names whose code is another one now, and not shown to compute the same.

    A record from before there were fingerprints is judged by versions alone.
    """
    return tuple(
        name for name, found in now.items() if name in then and latest(name, then[name]) != latest(name, found)
    )


@cache
def _of(modules: tuple[str, ...]) -> str:
    return sources.fingerprint(modules)


@cache
def _modules(name: str) -> tuple[str, ...]:
    """The modules of cseb's own parts that this part is computed by."""
    known = facts(name)
    found = set(_reached(known))
    for used in known.uses:
        found |= set(_modules(used))
    return tuple(sorted(one for one in found if one.startswith(f"{HOME}.")))


def _reached(known: Facts) -> tuple[str, ...]:
    inside = (*PARTS, *([_root(known.module)] if known.foreign else []))
    return sources.reached(known.module, inside, CONTRACT)


@cache
def _foreign(name: str) -> tuple[str, str, str, str] | None:
    known = facts(name)
    if not known.foreign:
        return None
    own = tuple(one for one in _reached(known) if not one.startswith(f"{HOME}."))
    return name, known.package, known.release, sources.fingerprint(own)


@cache
def _foreign_task(name: str) -> tuple[str, str, str, str] | None:
    package, release = package_of(TASKS.kind, name)
    if not package:
        return None
    module = _task_module(name)
    return f"task {name}", package, release, sources.fingerprint(sources.reached(module, (_root(module),), CONTRACT))


def _task_module(name: str) -> str:
    if name not in TASKS and (narrow := re.fullmatch("first[0-9]+:(.+)", name)):
        return _task_module(narrow[1])
    if name in TASKS:
        return TASKS.targets[name].partition(":")[0]
    return MTEB_TASKS if name.startswith("mteb:") else OWN_TASKS


def _root(module: str) -> str:
    return module.partition(".")[0]
