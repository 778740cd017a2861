"""The conditions that records of one table must share, the grouping of records, and records that are out of date."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from cseb.errors import BadResults, CsebError, did_you_mean
from cseb.methods.part_facts import facts, is_part
from cseb.records.differences import tag
from cseb.records.method_text import Stated
from cseb.records.record import Record, data_sha256
from cseb.registry import TASKS
from cseb.tasks.names import without_variants
from cseb.text import plain
from cseb.version import ENCODER_VERSION, TRAINER_VERSION, WORD_VERSIONS


def _device(record: Record) -> str:
    """Return cpu, or the name of the GPU: other GPUs round otherwise."""
    device = record.protocol.device
    return device if device == "cpu" else f"{device} ({record.origin.device})"


# A function that gives the value two records are compared by, and one that shows it.
Condition = tuple[Callable[[Record], object], Callable[[Record], str]]
# Never mixed in a table.
INPUTS: Mapping[str, Condition] = {
    "encoder": (lambda record: record.encoder.sha256, lambda record: tag(record.encoder)),
    "corpus": (lambda record: record.corpus.sha256, lambda record: tag(record.corpus)),
}
# Mixed on request only; the table then says so.
_CONDITIONS: Mapping[str, Callable[[Record], str]] = {
    "tasks": lambda record: ", ".join(record.protocol.tasks),
    "task data": lambda record: record.protocol.data[:8],
    "dev set": lambda record: f"{record.protocol.dev or 'none'} ({record.protocol.dev_pairs} examples)",
    "device": _device,
    "number of threads": lambda record: str(record.protocol.threads),
    "number of processes": lambda record: str(record.protocol.processes),
    "dtype": lambda record: record.origin.dtype,
    "version of torch": lambda record: record.origin.versions.get("torch", "unknown"),
}
CONDITIONS: Mapping[str, Condition] = {name: (condition, condition) for name, condition in _CONDITIONS.items()}


def refuse_differences(records: Sequence[Record], *, encoders: bool = False, mixed: bool = False) -> dict[str, str]:
    """Return the differences in how the records were made, by name; only allowed with `mixed`.

    encoders: whether the encoders may differ. Raises: BadResults for other inputs, and for differences not allowed.
    """
    for name, condition in INPUTS.items():
        if not (name == "encoder" and encoders) and (values := _different(records, condition)):
            raise BadResults(
                f"records differ in {name}: {values}, such as {_examples(records, condition)}; keep the others in a "
                "folder of their own"
            )
    differing = {name: values for name, condition in CONDITIONS.items() if (values := _different(records, condition))}
    differing |= _third_party_differences(records)
    if differing and not mixed:
        name, values = next(iter(differing.items()))
        examples = f", such as {_examples(records, CONDITIONS[name])}" if name in CONDITIONS else ""
        raise BadResults(
            f"records differ in {name}: {values}{examples}; keep the others in a folder of their own, or mix them with "
            "`mixed`"
        )
    return differing


def _third_party_differences(records: Iterable[Record]) -> dict[str, str]:
    """Return the third-party parts and tasks that these records used in more than one version."""
    versions: dict[str, set[str]] = {}
    for record in records:
        for source in record.foreign:
            version = plain(f"{source.package} {source.version}, code {source.code[:8]}")
            versions.setdefault(f"the code of {plain(source.name)}", set()).add(version)
    return {name: " / ".join(sorted(shown)) for name, shown in versions.items() if len(shown) > 1}


def groups(records: Iterable[Record], tasks: Sequence[str] = ()) -> list[list[Record]]:
    """Return the records by encoder and corpus, in order of their names: each group can be a table.

    Untrained encoders are a group for each set of tasks, of which only the named ones count, if some are named.
    """
    grouped: dict[object, list[Record]] = {}
    for record in sorted(records, key=lambda record: (record.encoder.name, record.corpus.name)):
        if not is_untrained(record):
            grouped.setdefault((record.encoder.sha256, record.corpus.sha256), []).append(record)
            continue
        narrow = narrowed(record, tasks)
        group = grouped.setdefault(tuple(value(narrow) for value, _ in CONDITIONS.values()), [])
        # The same encoder may have been scored on these tasks twice, beside others.
        if narrow is record or not any(_repeats(narrow, other) for other in group):
            group.append(narrow)
    return list(grouped.values())


def distinction(group: Sequence[Record], several: Iterable[Sequence[Record]]) -> str:
    """Return the conditions, such as task data, in which untrained encoders differ from others of the same tasks."""
    if not group or not is_untrained(group[0]):
        return ""
    first, tasks = group[0], group[0].protocol.tasks
    others = [each[0] for each in several if is_untrained(each[0]) and each[0].protocol.tasks == tasks]
    different = [name for name, (value, _) in CONDITIONS.items() if len({value(record) for record in others}) > 1]
    return plain("; ".join(f"{name} {CONDITIONS[name][1](first)}" for name in different))


def narrowed(record: Record, tasks: Sequence[str]) -> Record:
    """Return an untrained record as if it had been scored on these tasks alone.

    It is returned unchanged if it lacks a task, or the hash of a task's data, as older records do.
    """
    by_name = {name: score for score in record.scores for name in (score.task, unversioned(score.task))}
    scores = tuple(by_name[name] for name in dict.fromkeys(tasks) if name in by_name and by_name[name].data)
    if not scores or len(scores) < len(set(tasks)):
        return record
    names, data = tuple(score.task for score in scores), data_sha256(score.data for score in scores)
    protocol = replace(record.protocol, tasks=names, data=data)
    return record.model_copy(update={"protocol": protocol, "scores": scores})


def _repeats(record: Record, other: Record) -> bool:
    """Return whether two records have the same scores of one encoder."""
    a, b = ((each.method, each.encoder.sha256, each.scores) for each in (record, other))
    return a == b


def scored_on(several: list[list[Record]], tasks: Sequence[str]) -> list[list[Record]]:
    """Return the groups that were scored on all of these tasks, typed with or without their versions.

    All groups are returned if no task is named. Raises: BadResults if no group was.
    """
    if not tasks or not several:
        return several
    lists = [{record.protocol.tasks for record in group} for group in several]  # many records share a few
    names = [{name for tasks in each for task in tasks for name in (task, unversioned(task))} for each in lists]
    chosen = [group for group, known in zip(several, names, strict=True) if known.issuperset(tasks)]
    if chosen:
        return chosen
    known = set().union(*names)
    if missing := [task for task in tasks if task not in known]:
        bare = {name for name in known if "@" not in name}
        hint = did_you_mean(missing[0], bare) if len(tasks) == 1 else f"the records have {', '.join(sorted(bare))}"
        raise BadResults(f"no record has the task{'s'[: len(missing) > 1]} {', '.join(missing)}; {hint}")
    raise BadResults(f"no records were scored on all of {', '.join(tasks)}; name tasks of one run")


def is_untrained(record: Record) -> bool:
    """Return whether `cseb eval` made the record: no sentence was trained on."""
    return record.subset.size == 0


def unversioned(task: str) -> str:
    """Return the name of a task without its version."""
    return task.rpartition("@")[0]


def _different(records: Iterable[Record], condition: Condition) -> str:
    """Return the different values, or "" when there is only one."""
    value, shown = condition
    kinds = {value(record): record for record in records}
    return plain(" / ".join(sorted({shown(record) for record in kinds.values()}))) if len(kinds) > 1 else ""


def _examples(records: Iterable[Record], condition: Condition) -> str:
    """Return the files of two records with different values."""
    value, shown = condition
    kinds = sorted({value(record): record for record in records}.values(), key=shown)
    return " and ".join(f"{record.key}.json" for record in kinds[:2])


def stale(record: Record, versions: Mapping[str, int] | None = None, tasks: Mapping[str, Any] = TASKS) -> str:
    """Return why the installed code would give this job other numbers, or "" if it would not.

    versions: of parts by name, in place of the installed ones. tasks: by name, each with a version. Parts and tasks
    that are not installed are not compared.
    """
    compared = [("encoder", str(record.encoder_version), str(ENCODER_VERSION))]
    if record.subset.size:  # otherwise nothing was trained
        compared.append(("trainer", str(record.trainer_version), str(TRAINER_VERSION)))
    compared += [(part.part.name, str(part.version), str(_version_now(part, versions))) for part in record.parts]
    dev = record.protocol.dev
    for task in (*record.protocol.tasks, *([dev] if "@" in dev else [])):
        name, _, version = task.rpartition("@")
        if not name or not version.isascii() or not version.isdigit():
            return f"the version of {plain(task)!r} cannot be read"
        plain_name = without_variants(name)
        compared.append((name, version, str(tasks[plain_name].version) if plain_name in tasks else version))
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
